package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"strings"
)

// The folder vendor is there in any case; `make build` puts React into it.
//
//go:embed frame/frame.html frame/boot.js vendor
var frameFiles embed.FS

// Frame is the document in which generated interfaces run. Hash is what a Content-Security-Policy knows its one script by. If the
// portal was built without React, the document says so to the page around.
func Frame() (document []byte, hash string) {
	page, _ := fs.ReadFile(frameFiles, "frame/frame.html")
	boot, _ := fs.ReadFile(frameFiles, "frame/boot.js")
	react, _ := fs.ReadFile(frameFiles, "vendor/react.js") // or nothing
	script := string(react) + "\n" + string(boot)
	sum := sha256.Sum256([]byte(script))
	text := strings.Replace(string(page), "<script></script>", "<script>"+script+"</script>", 1)
	return []byte(text), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

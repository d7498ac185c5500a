package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"strings"
)

// The directory vendor always exists; `make build` puts React into it.
//
//go:embed frame/frame.html frame/boot.js vendor
var frameFiles embed.FS

// Frame returns the document that runs generated interfaces, and the hash of its only script for a Content-Security-Policy. If
// the portal was built without React, the document reports that to the page.
func Frame() (document []byte, hash string) {
	page, _ := fs.ReadFile(frameFiles, "frame/frame.html")
	boot, _ := fs.ReadFile(frameFiles, "frame/boot.js")
	react, _ := fs.ReadFile(frameFiles, "vendor/react.js") // missing if built without npm
	script := string(react) + "\n" + string(boot)
	sum := sha256.Sum256([]byte(script))
	text := strings.Replace(string(page), "<script></script>", "<script>"+script+"</script>", 1)
	return []byte(text), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

package assets

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"strings"
)

//go:embed frame/frame.html frame/boot.js vendor/react.js vendor/xterm.js vendor/xterm.css
var frameFiles embed.FS

// Vendored returns the files of other projects that the page loads when it needs them, by name.
func Vendored() map[string][]byte {
	files := map[string][]byte{}
	for _, name := range []string{"vendor/xterm.css", "vendor/xterm.js"} {
		files[name] = embedded(name)
	}
	return files
}

// Frame returns the document that runs generated interfaces, and the hash of its only script for a Content-Security-Policy.
func Frame() (document []byte, hash string) {
	script := string(embedded("vendor/react.js")) + "\n" + string(embedded("frame/boot.js"))
	sum := sha256.Sum256([]byte(script))
	text := strings.Replace(string(embedded("frame/frame.html")), "<script></script>", "<script>"+script+"</script>", 1)
	return []byte(text), "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// embedded returns an embedded file, which exists.
func embedded(name string) []byte {
	data, _ := frameFiles.ReadFile(name)
	return data
}

// Package assets holds the files of the web page.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed index.html *.svg *.js views/*.js blocks/*.js styles/*.css
var files embed.FS

// FS returns the files of the page, index.html at its root. Tests and development files are not among them.
func FS() fs.FS {
	return files
}

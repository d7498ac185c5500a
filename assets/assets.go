// Package assets contains the files of the web page.
package assets

import (
	"embed"
	"io/fs"
)

//go:embed index.html offline.html link.html shared.html manifest.webmanifest icons/*.png *.svg *.js views/*.js blocks/*.js styles/*.css
var files embed.FS

// FS returns the files of the page, with index.html at the root. It excludes tests and development files.
func FS() fs.FS {
	return files
}

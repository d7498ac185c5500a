package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// site serves the files of the web site as they lie there: /x is assets/x, and
// / is index.html. No listing, no redirect.
type site struct{ files fs.FS }

func newSite(files fs.FS) site { return site{files} }

// find gives the file at a path, which is not always clean.
func (s site) find(path string) (file, bool) {
	name := strings.TrimPrefix(path, "/")
	if name == "" {
		name = "index.html"
	}
	if !fs.ValidPath(name) { // "..", "//", what is not clean
		return file{}, false
	}
	data, err := fs.ReadFile(s.files, name)
	return file{name, data}, err == nil // a directory is an error, too
}

// file is one file of the site.
type file struct {
	name string
	data []byte
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256(f.data)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	w.Header().Set("Cache-Control", "no-cache") // ask each time: a new portal has new files
	w.Header().Set("Content-Type", f.kind())
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}

// kind is the file's media type. Not as the system knows it: some take scripts
// for text, which browsers refuse.
func (f file) kind() string {
	switch path.Ext(f.name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	if kind := mime.TypeByExtension(path.Ext(f.name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"
)

// site serves the files of the web site as they lie there: /x is assets/x, and
// / is index.html. No listing, no redirect. Below a directory that is named after
// all of them together they are there as well, for browsers to keep: index.html
// takes what it needs from there, so that a page that is opened again asks for
// nothing else.
type site struct {
	files   fs.FS
	version string // the name of that directory
	index   []byte
	frame   file // where generated interfaces run
}

func newSite(files fs.FS) site {
	s := site{files: files, frame: newFrame()}
	s.version = versionOf(files, s.frame)
	s.index = s.head()
	return s
}

// versionOf is another one when any file is, or a header of the frame, which browsers keep with it.
func versionOf(files fs.FS, frame file) string {
	sum := sha256.New()
	sum.Write(frame.data)
	_, _ = fmt.Fprintln(sum, frame.header)
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error { // of files that are part of the program
		if err == nil && !d.IsDir() {
			data, _ := fs.ReadFile(files, name)
			_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(data))
			sum.Write(data)
		}
		return nil
	})
	return "v-" + hex.EncodeToString(sum.Sum(nil)[:8])
}

// head is index.html with lasting addresses, and with all modules, which the
// browser would else find one behind another.
func (s site) head() []byte {
	page, _ := fs.ReadFile(s.files, "index.html")
	var modules strings.Builder
	_ = fs.WalkDir(s.files, ".", func(name string, _ fs.DirEntry, _ error) error {
		if path.Ext(name) == ".js" {
			fmt.Fprintf(&modules, "<link rel=\"modulepreload\" href=\"%s/%s\">\n  ", s.version, name)
		}
		return nil
	})
	const script = `<script type="module" src="`
	text := strings.ReplaceAll(string(page), `href="styles/`, `href="`+s.version+`/styles/`)
	return []byte(strings.Replace(text, script, modules.String()+script+s.version+"/", 1))
}

// find gives the file at a path, which is not always clean.
func (s site) find(path string) (file, bool) {
	name := strings.TrimPrefix(path, "/")
	if name == "" || name == "index.html" {
		return file{name: "index.html", data: s.index}, true
	}
	if strings.TrimPrefix(name, s.version+"/") == s.frame.name {
		found := s.frame
		found.lasting = name != s.frame.name
		return found, true
	}
	if !fs.ValidPath(name) { // "..", "//", what is not clean
		return file{}, false
	}
	lasting, isLasting := strings.CutPrefix(name, s.version+"/")
	data, err := fs.ReadFile(s.files, lasting)
	return file{name: lasting, data: data, lasting: isLasting}, err == nil // a directory is an error, too
}

// file is one file of the site.
type file struct {
	name    string
	data    []byte
	lasting bool        // there will never be another one at its address
	header  http.Header // that it has instead of that of the site, or besides
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256(f.data)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	w.Header().Set("Cache-Control", "no-cache") // ask each time: a new portal has new files
	if f.lasting {
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", f.kind())
	maps.Copy(w.Header(), f.header)
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

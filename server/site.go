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

// site serves the files of the web site: /x is assets/x, and / is index.html. It neither lists nor redirects.
// All files are also below a directory that is named after a hash of their contents, where browsers may cache
// them for ever. index.html refers to those, so that reopening the page requests nothing else.
type site struct {
	files   fs.FS
	version string // name of that directory
	index   []byte
	frame   file // the document that runs generated interfaces
}

func newSite(files fs.FS) site {
	s := site{files: files, frame: newFrame()}
	s.version = versionOf(files, s.frame)
	s.index = s.head()
	return s
}

// versionOf returns a hash of all files and of the frame's headers, which browsers cache with it.
func versionOf(files fs.FS, frame file) string {
	sum := sha256.New()
	sum.Write(frame.data)
	_, _ = fmt.Fprintln(sum, frame.header)
	_ = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error { // cannot fail: the files are part of the program
		if err == nil && !d.IsDir() {
			data, _ := fs.ReadFile(files, name)
			_, _ = fmt.Fprintf(sum, "%s %d\n", name, len(data))
			sum.Write(data)
		}
		return nil
	})
	return "v-" + hex.EncodeToString(sum.Sum(nil)[:8])
}

// head returns index.html with the cacheable addresses and with a preload of every module, because a browser
// would otherwise discover modules one after another.
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

// find returns the file at a path, which may not be clean.
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
	if !fs.ValidPath(name) { // "..", "//" and other unclean paths
		return file{}, false
	}
	lasting, isLasting := strings.CutPrefix(name, s.version+"/")
	data, err := fs.ReadFile(s.files, lasting)
	return file{name: lasting, data: data, lasting: isLasting}, err == nil // reading a directory fails, too
}

// file is one file of the site.
type file struct {
	name    string
	data    []byte
	lasting bool        // the content at its address never changes
	header  http.Header // overrides or extends the headers of the site
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	sum := sha256.Sum256(f.data)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	w.Header().Set("Cache-Control", "no-cache") // revalidate each time: a new portal has new files
	if f.lasting {
		w.Header().Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", f.kind())
	maps.Copy(w.Header(), f.header)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(f.data))
}

// kind returns the media type of the file. It does not use the system's table: some systems map scripts to
// text, which browsers refuse.
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

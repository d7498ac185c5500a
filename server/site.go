package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"
)

// site serves the files of the web site as they lie there: /x is assets/x, and
// / is index.html. No listing, no redirect.
type site struct{ files fs.FS }

func newSite(files fs.FS) site { return site{files} }

// serve answers with a file; false if there is none.
func (s site) serve(w http.ResponseWriter, r *http.Request) bool {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		return false
	}
	name := strings.TrimPrefix(r.URL.Path, "/")
	if name == "" {
		name = "index.html"
	}
	if !fs.ValidPath(name) { // "..", "//", what is not clean
		return false
	}
	data, err := fs.ReadFile(s.files, name)
	if err != nil { // a directory, too
		return false
	}
	sum := sha256.Sum256(data)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	w.Header().Set("Cache-Control", "no-cache") // ask each time: a new portal has new files
	http.ServeContent(w, r, path.Base(name), time.Time{}, bytes.NewReader(data))
	return true
}

func stack() string { return string(debug.Stack()) }

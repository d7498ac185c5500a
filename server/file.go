package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/copilot-portal/portal/handlers/wire"
)

// file is one file of the site. It is safe for concurrent use.
type file struct {
	name    string
	content func() []byte
	tag     func() string
	zipped  func() []byte // with gzip, once; nil if that does not help
	header  http.Header   // overrides or extends the headers of the site
}

// newFile returns a file whose content is always the same.
func newFile(name string, content func() []byte) *file {
	f := &file{name: name, content: content}
	f.tag = sync.OnceValue(func() string {
		sum := sha256.Sum256(content())
		return hex.EncodeToString(sum[:12])
	})
	f.zipped = sync.OnceValue(func() []byte { return zip(content()) })
	return f
}

// zip returns data compressed with gzip; nil if it does not get smaller.
func zip(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // cannot fail, nor can the next two
	_, _ = w.Write(data)
	_ = w.Close()
	if b.Len() >= len(data) {
		return nil
	}
	return b.Bytes()
}

func (f *file) serve(w http.ResponseWriter, r *http.Request, lasting bool) {
	h := w.Header()
	h.Set("Cache-Control", "no-cache") // revalidate each time: a new portal has new files
	if lasting {
		h.Set("Cache-Control", "private, max-age=31536000, immutable")
	}
	h.Set("Content-Type", f.kind())
	maps.Copy(h, f.header)
	data, tag := f.content(), f.tag()
	if f.isText() {
		h.Add("Vary", "Accept-Encoding")
		if zipped := f.zipped(); zipped != nil && acceptsGzip(r) {
			data, tag = zipped, tag+"-gzip" // a strong tag names one encoding
			h.Set("Content-Encoding", "gzip")
			h.Set("Content-Length", strconv.Itoa(len(data))) // which http.ServeContent leaves out
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// acceptsGzip reports whether the client of a request wants gzip. Parts of a file are served as they are.
func acceptsGzip(r *http.Request) bool { return r.Header.Get("Range") == "" && wire.AcceptsGzip(r) }

// isText reports whether the file may get smaller with gzip. Images are compressed already.
func (f *file) isText() bool {
	return slices.Contains([]string{".html", ".css", ".js", ".svg", ".webmanifest"}, path.Ext(f.name))
}

// kind returns the media type of the file. It does not use the system's table: some systems map scripts to
// text, which browsers refuse.
func (f *file) kind() string {
	switch path.Ext(f.name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".webmanifest":
		return "application/manifest+json"
	}
	if kind := mime.TypeByExtension(path.Ext(f.name)); kind != "" {
		return kind
	}
	return "application/octet-stream"
}

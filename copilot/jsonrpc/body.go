package jsonrpc

import (
	"io"
	"net/http"
)

// LimitBody is the body of a request, of which at most limit bytes are read; then
// reading fails with an [http.MaxBytesError]. It is [http.MaxBytesReader], which tells
// the server of a body that is too large only through the server's own writer, not
// through one of a router: untold, the server cuts the connection off behind the
// answer, and a client that still sends may never read it.
func LimitBody(w http.ResponseWriter, r *http.Request, limit int64) io.ReadCloser {
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return http.MaxBytesReader(w, r.Body, limit)
		}
		w = outer.Unwrap()
	}
}

package jsonrpc

import (
	"io"
	"net/http"
)

// LimitBody returns the body of a request, limited to a number of bytes; reading more fails with an
// [http.MaxBytesError]. It calls [http.MaxBytesReader] with the server's own writer instead of a router's wrapper.
// Otherwise the server would not know that the body is too large and would reset the connection after the response, and
// a client that still sends might never read it.
func LimitBody(w http.ResponseWriter, r *http.Request, limit int64) io.ReadCloser {
	for {
		outer, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return http.MaxBytesReader(w, r.Body, limit)
		}
		w = outer.Unwrap()
	}
}

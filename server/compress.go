package server

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// minCompressed is the size in bytes from which a response is compressed. A smaller one fits into one or two packets anyway.
const minCompressed = 2 << 10

// compressed compresses large JSON responses of REST for clients that ask for it. The stream of /stream and the long poll do so
// themselves: events are compressed once for all clients, and a position depends on whether a response was written.
//
// Compression can reveal a secret that a response contains beside text of an attacker (BREACH). An attacker would have to make
// the browser send many such requests; the guard refuses all requests of other pages, and no response contains the token.
func (s *Server) compressed(next http.Handler) http.Handler {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(minCompressed), gzhttp.ContentTypes([]string{"application/json"}))
	if err != nil {
		return next // the options are constants, and valid
	}
	zipping := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path, inside := trimBase(s.config.BasePath, r.URL.Path)
		if inside && r.Method == http.MethodGet && strings.HasPrefix(path, "/api/copilot/") && !isLongPoll(path) && acceptsGzip(r) {
			zipping.ServeHTTP(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLongPoll reports whether a path is that of live or live/{token} of a session, a job or a task.
func isLongPoll(path string) bool { return strings.Contains(path+"/", "/live/") }

package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// origins are those whose pages may use the operations: dashboards. They need a session id or the token like everybody; cookies do not
// count for them.
type origins []string

// check tells what is wrong with them.
func (o origins) check(fault func(format string, args ...any)) {
	for _, origin := range o {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			fault("allowed_origins: %q is not an origin such as https://dashboard.example", origin)
		}
	}
}

// allow tells whether the page that sends a request may use the operations.
func (o origins) allow(r *http.Request) bool {
	given := r.Header.Values("Origin")
	return len(given) == 1 && slices.ContainsFunc(o, func(origin string) bool { return strings.EqualFold(origin, given[0]) })
}

// share serves a request of such a page, and tells its browser that the page may read the answer. The browser asks before it sends
// anything else than simple requests.
func (o origins) share(c *gin.Context) {
	r := c.Request
	c.Header("Access-Control-Allow-Origin", r.Header.Get("Origin"))
	c.Header("Access-Control-Expose-Headers", "Allow, Retry-After, WWW-Authenticate")
	c.Header("Cross-Origin-Resource-Policy", "cross-origin")
	c.Writer.Header().Add("Vary", "Origin")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		c.Next()
		return
	}
	c.Header("Access-Control-Allow-Methods", "GET, POST")
	c.Header("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Session-ID")
	c.Header("Access-Control-Max-Age", "600")
	if r.Header.Get("Access-Control-Request-Private-Network") == "true" {
		c.Header("Access-Control-Allow-Private-Network", "true")
	}
	c.AbortWithStatus(http.StatusNoContent)
}

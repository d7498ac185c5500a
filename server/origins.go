package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// origins are the origins of other pages that may use operations, such as dashboards. These need a session id
// or the token like any client; their cookies do not count.
type origins []string

// check reports invalid origins.
func (o origins) check(fault func(format string, args ...any)) {
	for _, origin := range o {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || origin != u.Scheme+"://"+u.Host {
			fault("allowed_origins: %q is not an origin such as https://dashboard.example", origin)
		}
	}
}

// allow reports whether the page that sends a request may use operations.
func (o origins) allow(r *http.Request) bool {
	given := r.Header.Values("Origin")
	return len(given) == 1 && slices.ContainsFunc(o, func(origin string) bool { return strings.EqualFold(origin, given[0]) })
}

// share serves a request of such a page and sets the headers that let the page read the response. Before
// anything but a simple request, the browser sends a preflight request.
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

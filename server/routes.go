package server

import (
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/assets"
	"github.com/copilot-portal/portal/handlers/ws"
)

// routes returns the complete route table. It starts with the middleware of every request, in order.
func (s *Server) routes() linked {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.UseRawPath, r.UnescapePathValues = true, false // ids of models contain "/"; handlers decode paths
	r.RedirectTrailingSlash, r.RedirectFixedPath = false, false
	r.HandleMethodNotAllowed = true
	r.ForwardedByClientIP = false
	s.guard.visitors = s.ws.Paths()
	m := newMetrics(s)
	r.Use(m.count, s.logged, s.recovered, s.headers, s.refusals, s.limits.limited, s.guard.check)

	base := s.config.BasePath
	site := newSite(assets.FS(), s.config.Debug, s.log)
	r.NoRoute(s.serveFile(site))
	r.NoMethod(methodNotAllowed)
	r.GET(base+"/health", s.health)
	r.GET(base+"/version", func(c *gin.Context) { c.JSON(http.StatusOK, gin.H{"version": s.version, "page": site.version}) })
	r.GET(base+"/metrics", m.serve)
	contractRoutes(r, base)
	s.rest.Routes(r.Group(base + "/api"))
	s.clusterRoutes(r.Group(base + "/api"))
	s.rpc.Routes(r.Group(base + "/"))
	s.ui.Routes(r.Group(base + "/"))
	s.terminal.Routes(r.Group(base + "/"))
	s.ws.Routes(r.Group(base + "/"))
	s.mcp.Routes(r.Group(base + "/"))
	s.acp.Routes(r.Group(base + "/"))
	r.POST(base+linkOpening, s.openLink)
	return linked{r, base}
}

// serveFile serves the files of the page, and 404 for everything else.
func (s *Server) serveFile(site site) gin.HandlerFunc {
	base := s.config.BasePath
	return func(c *gin.Context) {
		path, inside := trimBase(base, c.Request.URL.Path)
		if page := c.GetString(pageKey); page != "" {
			path = "/" + page
		}
		file, lasting := site.find(path)
		switch {
		case base != "" && c.Request.URL.Path == base && isReadMethod(c.Request):
			toSlash(c)
		case base != "" && !inside:
			refuse(c, http.StatusNotFound, "the portal is served below "+base+"/ (base_path); a proxy in front of it must keep that prefix")
		case file == nil || isAPI(path):
			refuse(c, http.StatusNotFound, "nothing exists at this path")
		case !isReadMethod(c.Request):
			c.Header("Allow", "GET, HEAD")
			methodNotAllowed(c)
		default:
			file.serve(c.Writer, c.Request, lasting)
		}
	}
}

// refusals makes middleware refuse requests to operations in their format.
func (s *Server) refusals(c *gin.Context) {
	if s.guard.isOperationPath(c.Request) {
		c.Set(refusalKey, s.ws.Refuse)
	}
	c.Next()
}

func isReadMethod(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead
}

// toSlash redirects from the base path to the base path with a slash, which the relative addresses of the
// page need.
func toSlash(c *gin.Context) {
	target := url.URL{Path: c.Request.URL.Path + "/", RawQuery: c.Request.URL.RawQuery}
	c.Header("Cache-Control", "no-store")
	c.Redirect(http.StatusSeeOther, target.String())
}

func methodNotAllowed(c *gin.Context) {
	refuse(c, http.StatusMethodNotAllowed, c.Request.Method+" is not possible here; use "+c.Writer.Header().Get("Allow"))
}

// isAPI reports whether a path belongs to an API, whether or not it exists.
func isAPI(path string) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return ws.Owns(path) || slices.Contains([]string{"acp", "api", "mcp", "rpc", "spec", "stream", "terminal", "ui"}, first)
}

func workDir() string {
	dir, err := os.Getwd()
	if err != nil {
		return "/"
	}
	return dir
}

// health answers 200 as soon as the port is open, even if the agent is not available.
func (s *Server) health(c *gin.Context) {
	h := s.host.Health()
	others := []gin.H{}
	for _, a := range s.host.OtherAgents() {
		others = append(others, gin.H{"name": a.Name, "state": a.State, "version": a.Version, "message": a.Message, "hint": a.Hint})
	}
	c.Header("Cache-Control", "no-store")
	c.JSON(http.StatusOK, gin.H{
		"status": "ok", "version": s.version,
		"agent":   gin.H{"state": h.State, "version": h.Version, "message": h.Message, "hint": h.Hint},
		"agents":  others,
		"storage": s.storage.health(),
		"cluster": s.storage.cluster.health(),
		"jobs":    s.book.health(),
	})
}

// contentPolicy is the Content-Security-Policy of the site. It allows only the site's own files.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; " +
	"font-src 'self'; manifest-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"

// apiPolicy is the Content-Security-Policy of everything else, which contains nothing that a page may use.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

func (s *Server) headers(c *gin.Context) {
	policy := contentPolicy
	if path, _ := trimBase(s.config.BasePath, c.Request.URL.Path); isAPI(path) {
		policy = apiPolicy
	}
	c.Header("Content-Security-Policy", policy)
	c.Header("X-Content-Type-Options", "nosniff")
	c.Header("Referrer-Policy", "no-referrer")
	c.Header("Cross-Origin-Resource-Policy", "same-origin")
	c.Next()
}

// logged logs each request: reads at debug level, changes at info level. It logs paths without queries,
// because those may contain the token.
func (s *Server) logged(c *gin.Context) {
	begin := time.Now()
	c.Next()
	level := slog.LevelInfo
	switch status := statusOf(c); {
	case status >= http.StatusInternalServerError:
		level = slog.LevelError
	case c.Request.Method == http.MethodGet && status < http.StatusBadRequest:
		level = slog.LevelDebug
	}
	if !s.log.Enabled(c.Request.Context(), level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("method", c.Request.Method), slog.String("path", c.Request.URL.EscapedPath()),
		slog.Int("status", statusOf(c)), slog.Duration("took", time.Since(begin).Round(time.Microsecond)),
	}
	if len(c.Errors) > 0 {
		attrs = append(attrs, slog.String("err", c.Errors.String()))
	}
	s.log.LogAttrs(c.Request.Context(), level, "request", attrs...)
}

// recovered turns a panic of a handler into an error response to that request.
func (s *Server) recovered(c *gin.Context) {
	defer func() {
		fault := recover()
		if fault == nil {
			return
		}
		s.log.Error("a handler panicked", "path", c.Request.URL.EscapedPath(), "panic", fault, "stack", string(debug.Stack()))
		if c.Writer.Written() {
			panic(http.ErrAbortHandler) // aborts the connection: a partial response must not look complete
		}
		refuse(c, http.StatusInternalServerError, "internal error; see the portal's log")
	}()
	c.Next()
}

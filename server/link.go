package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/gorilla/websocket"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/handlers/socket"
)

// A link to a session is /s/{id}/#{token}: the fragment reaches no log and no other site. Its page exchanges the token for a cookie of
// this path (POST /s/{id}/open). Everything below the path is then served as without it, but limited to the link. So a browser can use
// several links and the portal itself side by side: below the path, the cookie of the owner does not count, and elsewhere that of a
// link does not. Programs send the token as a bearer, to the usual addresses.

// The names of the page that opens a link, which needs no rights, and of the page that shows its session.
const (
	sharedPage = "shared.html"
	linkPage   = "link.html"
	linkScript = "link.js"
	linkStyle  = "styles/link.css"
	linkIcon   = "favicon.svg"
)

// linkOpening is the route that opens a link. It needs no rights.
const linkOpening = "/s/:link/open"

// pageKey is the gin key of the page that the address of a link shows.
const pageKey = "page"

type linkKey struct{}

// linkOf returns the id of the link whose path a request has.
func linkOf(r *http.Request) (id string, ok bool) {
	id, ok = r.Context().Value(linkKey{}).(string)
	return id, ok
}

// linked removes the path of a link from requests, and notes it in their contexts.
type linked struct {
	*gin.Engine

	base string
}

// ServeHTTP serves a request.
func (l linked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if inner, ok := belowLink(l.base, r); ok {
		r = inner
	}
	l.Engine.ServeHTTP(w, r)
}

// belowLink returns a request without the path of its link; false if it has none or opens it.
func belowLink(base string, r *http.Request) (*http.Request, bool) {
	rest, inside := strings.CutPrefix(r.URL.Path, base+"/s/")
	id, path, below := strings.Cut(rest, "/")
	if !inside || !below || !share.IsID(id) || path == "open" {
		return nil, false
	}
	outer := base + "/s/" + id
	u := *r.URL
	u.Path = base + strings.TrimPrefix(u.Path, outer)
	if u.RawPath != "" {
		raw, ok := strings.CutPrefix(u.RawPath, outer)
		if !ok {
			return nil, false // an odd encoding of a plain path
		}
		u.RawPath = base + raw
	}
	inner := r.WithContext(context.WithValue(r.Context(), linkKey{}, id))
	inner.URL = &u
	return inner, true
}

// openLink exchanges the token of a link, a bearer, for a cookie. Without a bearer it reports whether the cookie is still good. It reads no
// body, so that nobody without a token can keep it waiting.
func (s *Server) openLink(c *gin.Context) {
	id := c.Param("link")
	token, guess := bearer(c.Request)
	if !guess {
		token = s.guard.linkCookie(c.Request, id)
	}
	x, err := s.shares.Find(c.Request.Context(), token)
	if err == nil && x.ID != id {
		err = share.ErrNotFound
	}
	switch {
	case err != nil && s.guard.token != "" && s.guard.authorized(c.Request): // the owner needs no link
		refuse(c, http.StatusNotFound, "the token of the portal opens no link")
		return
	case err != nil:
		s.guard.refuseLink(c, err, guess)
		return
	}
	markAuthenticated(c.Request)
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure would exclude plain HTTP
		Name: s.guard.linkCookieName(), Value: token, Path: s.config.BasePath + "/s/" + id + "/", Expires: x.Expires,
		Secure: s.guard.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	c.Header("Cache-Control", "no-store")
	c.Status(http.StatusNoContent)
}

func (g guard) linkCookieName() string { return g.cookie + "_link" }

// linkCookie returns the token in the cookie of a link, or "". The cookie has the token itself: it is random, and good for nothing else.
func (g guard) linkCookie(r *http.Request, id string) string {
	for _, c := range r.CookiesNamed(g.linkCookieName()) {
		if share.IDOf(c.Value) == id {
			return c.Value
		}
	}
	return ""
}

// linkToken returns the token of a link that a request carries. Requests below the path of a link, and those with the token of any, are those of
// its holder, whatever else they carry.
func (g guard) linkToken(r *http.Request) (token string, linked bool) {
	given, isBearer := bearer(r)
	if id, below := linkOf(r); below {
		if isBearer {
			if share.IDOf(given) != id {
				return "", true
			}
			return given, true
		}
		return g.linkCookie(r, id), true
	}
	if isBearer && share.IsToken(given) && (g.token == "" || !equal(given, g.token)) {
		return given, true
	}
	return "", false
}

// opensLink reports whether a request is for the page that opens a link, which needs no rights.
func (g guard) opensLink(c *gin.Context) bool {
	r := c.Request
	if _, below := linkOf(r); !below || !isReadMethod(r) {
		return false
	}
	path, _ := trimBase(g.base, r.URL.Path)
	switch strings.TrimPrefix(path, "/") {
	case linkScript, linkStyle, linkIcon:
		return sameOrigin(r)
	case "":
		if g.showsLinked(r) {
			c.Set(pageKey, sharedPage)
			return false
		}
		c.Set(pageKey, linkPage)
		return sameOrigin(r) || isNavigation(r)
	}
	return false
}

// showsLinked reports whether the address of a link shows its session. The page that opens it comes first if it was followed from another
// origin: browsers keep the cookie back then.
func (g guard) showsLinked(r *http.Request) bool {
	token, _ := g.linkToken(r)
	_, err := g.shares.Find(r.Context(), token)
	return err == nil && sameOrigin(r)
}

// isNavigation reports whether a person follows a link, perhaps on a page of another origin.
func isNavigation(r *http.Request) bool {
	return r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" && len(r.Header["Origin"]) == 0
}

// serveLinked serves a request of the holder of a link, if the link allows it, until the link ends.
func (g guard) serveLinked(c *gin.Context, token string) {
	ctx := c.Request.Context()
	if g.opensSocket(c) {
		ctx = socket.Lasting(ctx)
	}
	limited, x, done, err := g.shares.Use(ctx, token)
	if err != nil {
		_, guess := bearer(c.Request)
		g.refuseLink(c, err, guess)
		return
	}
	defer afterRequest(c.Request, done)
	markAuthenticated(c.Request)
	if !g.isLinked(c, x.Rights) {
		refuse(c, http.StatusForbidden, x.Rights.Describe())
		return
	}
	c.Request = c.Request.WithContext(limited)
	g.serveSameOrigin(c)
	if cause := context.Cause(limited); errors.Is(cause, share.ErrNotFound) && !c.Writer.Written() {
		g.refuseLink(c, cause, false)
	}
}

// opensSocket reports whether the holder of a link asks for a WebSocket, which the end of the link ends.
func (g guard) opensSocket(c *gin.Context) bool {
	return websocket.IsWebSocketUpgrade(c.Request) && (c.FullPath() == g.base+"/ui" || c.FullPath() == g.base+"/rpc")
}

// serveOpening lets a request through that opens a link, unless a page of another origin may have sent it.
func (g guard) serveOpening(c *gin.Context) {
	if g.mayBeCrossOrigin(c.Request) {
		g.refuseOrigin(c)
		return
	}
	c.Next()
}

// isLinked reports whether rights include what the route of a request needs.
func (g guard) isLinked(c *gin.Context, rights share.Rights) bool {
	pattern, inside := strings.CutPrefix(c.FullPath(), g.base)
	if c.FullPath() == "" {
		path, below := trimBase(g.base, c.Request.URL.Path)
		return below && isReadMethod(c.Request) && !isAPI(path) // a file of the page
	}
	needed, listed := linkedRoutes()[c.Request.Method+" "+pattern]
	return inside && listed && rights.Include(needed)
}

// refuseLink refuses a link that does not work.
func (g guard) refuseLink(c *gin.Context, err error, guess bool) {
	if fault.KindOf(err) != fault.NotFound {
		refuseAndClose(c, http.StatusServiceUnavailable, fmt.Sprint(err))
		return
	}
	g.refuseToken(c, guess, err.Error())
}

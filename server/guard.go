package server

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/handlers/ws"
)

// guard keeps out whom a port that can run shell commands must not serve: web
// pages of other origins, names that were rebound to us, and, where a token is
// needed, everybody without it. It stands before every route.
type guard struct {
	hosts  hosts
	token  string // "" when none is needed
	cookie string // its name; cookies are shared among ports
	base   string // the path below which all is served, "" for none

	visitors []string // patterns of routes, below the base, that look themselves after who may use them
	guesses  *ws.TokenGuesses
	origins  origins // whose pages may use these routes besides the portal's own
}

func newGuard(c Config, port int, guesses *ws.TokenGuesses) guard {
	return guard{
		hosts:  newHosts(c),
		token:  c.Token,
		cookie: fmt.Sprintf("portal_%d", port),
		base:   c.BasePath,

		guesses: guesses,
		origins: c.AllowedOrigins,
	}
}

func (g guard) check(c *gin.Context) {
	r := c.Request
	switch {
	case !g.hosts.isAllowed(r):
		refuseAndClose(c, http.StatusForbidden, "this host is not served here; use localhost, or name it in allowed_hosts in the configuration")
	case !sameOrigin(r):
		g.serveAllowedOrigin(c)
	case g.token != "" && r.Method == http.MethodGet && r.URL.Query().Has("token"):
		g.admit(c)
	case g.token == "", g.authorized(r):
		g.serveSameOrigin(c)
	case g.acceptsSessionID(c):
		c.Next()
	default:
		_, guess := bearer(r)
		g.refuseToken(c, guess, "a token is needed: open "+g.base+"/?token=… as printed at the start, or send Authorization: Bearer")
	}
}

// refuseToken refuses a request without the token, or with a wrong one, which is counted.
func (g guard) refuseToken(c *gin.Context, guess bool, text string) {
	if guess {
		if wait := g.guesses.Failed(c.Request); wait > 0 {
			c.Header("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			refuseAndClose(c, http.StatusTooManyRequests, "too many wrong tokens from this address; the right one is taken at any time")
			return
		}
	}
	c.Header("WWW-Authenticate", "Bearer")
	refuseAndClose(c, http.StatusUnauthorized, text)
}

// refuseAndClose refuses a request and closes its connection, so that nobody holds one who
// may not be here.
func refuseAndClose(c *gin.Context, status int, text string) {
	c.Header("Connection", "close")
	refuse(c, status, text)
}

// serveSameOrigin serves a request, unless a page of another origin may have sent it.
func (g guard) serveSameOrigin(c *gin.Context) {
	path, _ := trimBase(g.base, c.Request.URL.Path)
	if isAPI(path) && g.mayBeCrossOrigin(c.Request) {
		refuseAndClose(c, http.StatusForbidden, "browsers do not tell at this address which page sends a request; use http://localhost or https, or send Authorization: Bearer")
		return
	}
	markAuthenticated(c.Request)
	c.Next()
}

// mayBeCrossOrigin tells whether a page of another origin may have sent a request without
// its browser saying so. Over plain HTTP browsers name the origin of a GET to loopback
// only; a page on another port of the same host has the cookie sent along. What such
// a page cannot send is a header of its own.
func (g guard) mayBeCrossOrigin(r *http.Request) bool {
	for _, proof := range []string{"Sec-Fetch-Site", "Origin", "X-Session-Id"} {
		if len(r.Header[proof]) > 0 {
			return false
		}
	}
	if _, ok := bearer(r); ok {
		return false
	}
	host, _ := hostname(r.Host)
	_, err := r.Cookie(g.cookie)
	return !isTrusted(host) && (err == nil || strings.HasPrefix(r.UserAgent(), "Mozilla/"))
}

// serveAllowedOrigin serves a request of a page of another origin if that may use the operations.
func (g guard) serveAllowedOrigin(c *gin.Context) {
	if g.token != "" && g.origins.allow(c.Request) && g.isOperationPath(c.Request) {
		g.origins.share(c)
		return
	}
	refuseAndClose(c, http.StatusForbidden, "requests of other web pages are refused; open the portal's own address")
}

// isOperationPath tells whether a path is one of those that a session id stands in for the token on, even if there is nothing.
func (g guard) isOperationPath(r *http.Request) bool {
	path, inside := trimBase(g.base, r.URL.Path)
	return inside && ws.Owns(path)
}

// acceptsSessionID tells whether a session id may stand in for the token.
func (g guard) acceptsSessionID(c *gin.Context) bool {
	pattern, ok := strings.CutPrefix(c.FullPath(), g.base)
	return ok && slices.Contains(g.visitors, pattern)
}

// refusalKey is where a request has the words of its dialect for a refusal.
const refusalKey = "refusal"

// refuse answers a request that a route does not get, in the words of its dialect if that has any.
func refuse(c *gin.Context, status int, text string) {
	if say, ok := c.Value(refusalKey).(func(*gin.Context, int, string)); ok {
		say(c, status, text)
		return
	}
	c.Header("Cache-Control", "no-store")
	c.AbortWithStatusJSON(status, gin.H{"error": text})
}

// sameOrigin refuses what a browser sends for a page of another origin. Other
// programs send neither header.
func sameOrigin(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" { // same-site too: another port of localhost is another origin
			return false
		}
	}
	for _, origin := range r.Header.Values("Origin") {
		if !strings.EqualFold(origin, "http://"+r.Host) && !strings.EqualFold(origin, "https://"+r.Host) {
			return false
		}
	}
	return true
}

func (g guard) authorized(r *http.Request) bool {
	if given, ok := bearer(r); ok {
		return equal(given, g.token)
	}
	c, err := r.Cookie(g.cookie)
	return err == nil && sameOrigin(r) && equal(c.Value, g.cookieValue())
}

// bearer is the token that a request has in Authorization.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token, strings.EqualFold(scheme, "Bearer")
}

// admit takes the token from the address, gives a cookie for it, and sends the
// browser to the clean address, so that the token stays out of its history.
func (g guard) admit(c *gin.Context) {
	u := *c.Request.URL
	query := u.Query()
	if !equal(query.Get("token"), g.token) && !g.authorized(c.Request) {
		g.refuseToken(c, true, "this is not the token of this portal; it is printed at the start")
		return
	}
	query.Del("token")
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure would keep it from plain http, which is all there is
		Name: g.cookie, Value: g.cookieValue(), Path: cmp.Or(g.base, "/"), HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	target := url.URL{Path: "/" + strings.TrimLeft(u.Path, "/"), RawQuery: query.Encode()} // never another host
	c.Header("Cache-Control", "no-store")
	c.Redirect(http.StatusSeeOther, target.String())
	c.Abort()
}

// cookieValue proves the token without telling it: other servers on this
// machine see the cookie.
func (g guard) cookieValue() string {
	mac := hmac.New(sha256.New, []byte(g.token))
	mac.Write([]byte(g.cookie))
	return hex.EncodeToString(mac.Sum(nil))
}

// equal compares in constant time, whatever the lengths.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

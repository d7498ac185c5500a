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

	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/handlers/ws"
)

// guard runs before every route. A port that can run shell commands must not serve pages of other origins,
// hosts whose names were rebound to this one, or, if a token is required, clients without it.
type guard struct {
	hosts  hosts
	token  string // "" if none is required
	cookie string // name of the cookie; all ports of a host share their cookies
	secure bool   // the portal serves HTTPS only
	base   string // base path, or ""

	visitors []string // patterns, below base, of routes that check access themselves
	guesses  *ws.TokenGuesses
	shares   *share.Shares
	origins  origins // other origins whose pages may use these routes
}

func newGuard(c Config, port int, guesses *ws.TokenGuesses, shares *share.Shares) guard {
	return guard{
		hosts:  newHosts(c),
		token:  c.Token,
		cookie: cookieName(port, c.TLS.isOn()),
		secure: c.TLS.isOn(),
		base:   c.BasePath,

		guesses: guesses,
		shares:  shares,
		origins: c.AllowedOrigins,
	}
}

// cookieName returns a name of its own for HTTPS: a browser that has a secure cookie accepts no other one of the same name
// over HTTP, so nobody could sign in after TLS was turned off.
func cookieName(port int, secure bool) string {
	if secure {
		return fmt.Sprintf("portal_tls_%d", port)
	}
	return fmt.Sprintf("portal_%d", port)
}

func (g guard) check(c *gin.Context) {
	r := c.Request
	token, linked := g.linkToken(r)
	switch {
	case !g.hosts.isAllowed(r):
		refuseAndClose(c, http.StatusForbidden, "this host name is not allowed; use localhost, or add it to allowed_hosts in the configuration")
	case g.opensLink(c):
		c.Next()
	case !sameOrigin(r):
		g.serveAllowedOrigin(c)
	case c.FullPath() == g.base+linkOpening:
		g.serveOpening(c)
	case linked:
		g.serveLinked(c, token)
	case g.token != "" && r.Method == http.MethodGet && r.URL.Query().Has("token"):
		g.admit(c)
	case g.token == "", g.authorized(r):
		g.serveSameOrigin(c)
	case g.acceptsSessionID(c):
		c.Next()
	default:
		_, guess := bearer(r)
		g.refuseToken(c, guess, g.whatIsMissing(r))
	}
}

// unauthorized is how a portal begins its refusal of requests without a token and a cookie.
const unauthorized = "a token is required"

// whatIsMissing says why a request is not authorized, and what to do.
func (g guard) whatIsMissing(r *http.Request) string {
	fault := unauthorized
	if _, guess := bearer(r); guess {
		fault = "wrong token"
	} else if g.hasCookie(r) {
		fault = "the cookie is of another portal or of an earlier token"
	}
	return fault + ": open " + g.base + "/?token=… as printed at startup, or send Authorization: Bearer"
}

// hasCookie reports whether a request has the cookie of a portal on this port, which may be another one on the same host.
func (g guard) hasCookie(r *http.Request) bool { return len(r.CookiesNamed(g.cookie)) > 0 }

// refuseToken refuses a request without the token or with a wrong one. It counts wrong ones.
func (g guard) refuseToken(c *gin.Context, guess bool, text string) {
	if guess {
		if wait := g.guesses.Failed(c.Request); wait > 0 {
			c.Header("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
			refuseAndClose(c, http.StatusTooManyRequests, "too many wrong tokens from this address; the right token is still accepted")
			return
		}
	}
	c.Header("WWW-Authenticate", "Bearer")
	refuseAndClose(c, http.StatusUnauthorized, text)
}

// refuseAndClose refuses a request and closes the connection, so that unauthenticated clients hold none.
func refuseAndClose(c *gin.Context, status int, text string) {
	c.Header("Connection", "close")
	refuse(c, status, text)
}

// What clients on plain HTTP are told: browsers, and others that send a cookie.
const (
	noOrigin       = "browsers do not send an origin to this address; use http://localhost or https, or send Authorization: Bearer"
	cookieNoOrigin = "the request has the cookie of a portal and no origin, so a page of another origin may have sent it; leave the cookie out, or send Authorization: Bearer"
)

// refuseOrigin refuses a request that a page of another origin may have sent.
func (g guard) refuseOrigin(c *gin.Context) {
	text := noOrigin
	if !isBrowser(c.Request) {
		text = cookieNoOrigin
	}
	refuseAndClose(c, http.StatusForbidden, text)
}

func isBrowser(r *http.Request) bool { return strings.HasPrefix(r.UserAgent(), "Mozilla/") }

// serveSameOrigin serves a request unless a page of another origin may have sent it.
func (g guard) serveSameOrigin(c *gin.Context) {
	path, _ := trimBase(g.base, c.Request.URL.Path)
	if isAPI(path) && g.mayBeCrossOrigin(c.Request) {
		g.refuseOrigin(c)
		return
	}
	markAuthenticated(c.Request)
	c.Next()
}

// mayBeCrossOrigin reports whether a page of another origin may have sent a request although the request does
// not say so. Over plain HTTP, browsers name the origin of a GET only to loopback, and they send the cookie
// with requests from pages on other ports of the host. Such a page cannot add a custom header.
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
	return !isTrusted(host) && (g.hasCookie(r) || isBrowser(r))
}

// serveAllowedOrigin serves a request from a page of another origin if it may use operations.
func (g guard) serveAllowedOrigin(c *gin.Context) {
	if g.token != "" && g.origins.allow(c.Request) && g.isOperationPath(c.Request) {
		g.origins.share(c)
		return
	}
	refuseAndClose(c, http.StatusForbidden, "requests from other web pages are refused; open the portal's own address")
}

// isOperationPath reports whether a path belongs to operations, whether or not it exists. There, a session id
// can replace the token.
func (g guard) isOperationPath(r *http.Request) bool {
	path, inside := trimBase(g.base, r.URL.Path)
	return inside && ws.Owns(path)
}

// acceptsSessionID reports whether the route of a request accepts a session id instead of the token.
func (g guard) acceptsSessionID(c *gin.Context) bool {
	pattern, ok := strings.CutPrefix(c.FullPath(), g.base)
	return ok && slices.Contains(g.visitors, pattern)
}

// refusalKey is the gin key of a dialect's own format for refusals.
const refusalKey = "refusal"

// refuse answers a request that no route gets, in the format of its dialect if it has one.
func refuse(c *gin.Context, status int, text string) {
	if say, ok := c.Value(refusalKey).(func(*gin.Context, int, string)); ok {
		say(c, status, text)
		return
	}
	c.Header("Cache-Control", "no-store")
	c.AbortWithStatusJSON(status, gin.H{"error": text})
}

// sameOrigin reports whether a request comes from the portal's own page or from a program other than a
// browser, which sends neither header.
func sameOrigin(r *http.Request) bool {
	for _, site := range r.Header.Values("Sec-Fetch-Site") {
		if site != "same-origin" && site != "none" { // same-site is not enough: another port of localhost is another origin
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

// bearer returns the token in the Authorization header.
func bearer(r *http.Request) (token string, ok bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	return token, strings.EqualFold(scheme, "Bearer")
}

// admit exchanges the token in the address for a cookie and redirects to the address without it, so that the
// token stays out of the browser's history.
func (g guard) admit(c *gin.Context) {
	u := *c.Request.URL
	query := u.Query()
	if !equal(query.Get("token"), g.token) && !g.authorized(c.Request) {
		g.refuseToken(c, true, "wrong token: the portal prints its token at startup")
		return
	}
	query.Del("token")
	http.SetCookie(c.Writer, &http.Cookie{ //nolint:gosec // Secure would exclude plain HTTP
		Name: g.cookie, Value: g.cookieValue(), Path: cmp.Or(g.base, "/"), Secure: g.secure, HttpOnly: true, SameSite: http.SameSiteStrictMode,
	})
	target := url.URL{Path: "/" + strings.TrimLeft(u.Path, "/"), RawQuery: query.Encode()} // never redirects to another host
	c.Header("Cache-Control", "no-store")
	c.Redirect(http.StatusSeeOther, target.String())
	c.Abort()
}

// cookieValue returns a value that proves knowledge of the token without revealing it, because other servers
// on this host see the cookie.
func (g guard) cookieValue() string {
	mac := hmac.New(sha256.New, []byte(g.token))
	mac.Write([]byte(g.cookie))
	return hex.EncodeToString(mac.Sum(nil))
}

// equal compares two strings in constant time, whatever their lengths.
func equal(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

package server_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

// everyRoute returns the routes with parameters filled in, and some paths without a route.
func everyRoute(h http.Handler) [][2]string {
	list := [][2]string{
		{"GET", "/"},
		{"GET", "/index.html"},
		{"GET", "/nothing"},
		{"GET", "/api/nothing"},
		{"HEAD", "/"},
		{"POST", "/"},
		{"POST", "/health"},
		{"OPTIONS", "/api/stop"},
		{"DELETE", "/api/copilot/session"},
	}
	fill := strings.NewReplacer(":id", "x", ":token", "t", ":request", "r", "*model", "demo")
	for _, r := range server.RoutesOf(h) {
		list = append(list, [2]string{r.Method, fill.Replace(r.Path)})
	}
	return list
}

func TestForeignRequestsAreRefusedOnEveryRoute(t *testing.T) {
	foreign := map[string][]string{
		"an http origin":                              {"Origin", "http://evil.example"},
		"an https origin":                             {"Origin", "https://evil.example"},
		"an opaque origin":                            {"Origin", "null"},
		"an origin on another port":                   {"Origin", "http://localhost:9999"},
		"an origin without our port":                  {"Origin", "http://localhost"},
		"another loopback name as origin":             {"Origin", "http://127.0.0.1:8888"},
		"an origin with our prefix":                   {"Origin", "http://localhost:8888.evil.example"},
		"an origin with us as the user":               {"Origin", "http://localhost:8888@evil.example"},
		"an origin with a user":                       {"Origin", "http://evil@localhost:8888"},
		"an origin with a path":                       {"Origin", "http://localhost:8888/evil"},
		"an origin of a file":                         {"Origin", "file://"},
		"an origin of an extension":                   {"Origin", "chrome-extension://localhost:8888"},
		"an origin without a scheme":                  {"Origin", "localhost:8888"},
		"an invalid origin":                           {"Origin", "%%%\x7f"},
		"an origin of blanks":                         {"Origin", " "},
		"two origins, the foreign one last":           {"Origin", "http://localhost:8888", "Origin", "http://evil.example"},
		"two origins, the foreign one first":          {"Origin", "http://evil.example", "Origin", "http://localhost:8888"},
		"two origins in one line":                     {"Origin", "http://localhost:8888, http://evil.example"},
		"a fetch from another site":                   {"Sec-Fetch-Site", "cross-site"},
		"a fetch from another port of ours":           {"Sec-Fetch-Site", "same-site"},
		"a fetch from a site of unknown kind":         {"Sec-Fetch-Site", "galactic"},
		"a fetch from another site, with two headers": {"Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site"},
		"a fetch from another site by our origin":     {"Sec-Fetch-Site", "cross-site", "Origin", "http://localhost:8888"},
		"a foreign origin on a same-origin fetch":     {"Sec-Fetch-Site", "same-origin", "Origin", "http://evil.example"},
		"a foreign host name":                         {"Host", "evil.example"},
		"a foreign host name with our port":           {"Host", "evil.example:8888"},
		"a name below which we seem to be":            {"Host", "localhost.evil.example"},
		"the same with our port":                      {"Host", "localhost.evil.example:8888"},
		"a name that contains our address":            {"Host", "127.0.0.1.nip.io"},
		"the same in capitals":                        {"Host", "127.0.0.1.NIP.IO:8888"},
		"a name with a dot at its end":                {"Host", "evil.example."},
		"a name in capitals":                          {"Host", "EVIL.EXAMPLE"},
		"no name":                                     {"Host", ""},
		"a port alone":                                {"Host", ":8888"},
		"brackets around a name":                      {"Host", "[evil.example]:8888"},
		"a name after our address":                    {"Host", "[::1].evil.example"},
		"a name that ends like ours":                  {"Host", "notlocalhost"},
		"a user before a name":                        {"Host", "localhost:8888@evil.example"},
		"all addresses of version 4":                  {"Host", "0.0.0.0:8888"},
		"all addresses of version 6":                  {"Host", "[::]:8888"},
		"a mapped address":                            {"Host", "[::ffff:127.0.0.1]:8888"},
		"an address of the network":                   {"Host", "192.168.1.5:8888"},
		"a foreign name that is its own origin":       {"Host", "evil.example:8888", "Origin", "http://evil.example:8888"},
		"a foreign name in a fetch of that origin":    {"Host", "evil.example:8888", "Sec-Fetch-Site", "same-origin"},
	}
	h := inside(t, nil).Handler(8888)
	for name, header := range foreign {
		t.Run(name, func(t *testing.T) {
			for _, r := range everyRoute(h) {
				w := ask(h, r[0], r[1], header...)
				require.Equal(t, http.StatusForbidden, w.Code, "%s %s", r[0], r[1])
				require.Contains(t, w.Body.String(), `{"error":`)
				require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
				require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
			}
		})
	}
}

func TestOwnRequestsPassOnEveryRoute(t *testing.T) {
	own := map[string][]string{
		"a script":                             {},
		"our page":                             {"Origin", "http://localhost:8888", "Sec-Fetch-Site", "same-origin"},
		"our page, with the name in capitals":  {"Host", "LOCALHOST:8888", "Origin", "http://localhost:8888"},
		"our page behind a proxy with TLS":     {"Origin", "https://localhost:8888"},
		"an address typed in":                  {"Sec-Fetch-Site", "none"},
		"the address of version 4":             {"Host", "127.0.0.1:8888"},
		"another loopback address":             {"Host", "127.9.9.9"},
		"the address of version 6":             {"Host", "[::1]:8888", "Origin", "http://[::1]:8888"},
		"the address of version 6 and no port": {"Host", "[::1]"},
		"a forwarded port":                     {"Host", "localhost:1234", "Origin", "http://localhost:1234"},
		"a host that is allowed":               {"Host", "Portal.Example:8888", "Origin", "http://portal.example:8888"},
	}
	h := inside(t, func(c *server.Config) { c.AllowedHosts = []string{"portal.example"} }).Handler(8888)
	for name, header := range own {
		t.Run(name, func(t *testing.T) {
			for _, r := range everyRoute(h) {
				assert.NotEqual(t, http.StatusForbidden, ask(h, r[0], r[1], header...).Code, "%s %s", r[0], r[1])
			}
		})
	}
}

func TestRequestsHandledByNetHTTPAreGuarded(t *testing.T) {
	address := serve(t, inside(t, nil))
	for name, request := range map[string]string{
		"options of the whole server":  "OPTIONS * HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"an absolute target":           "GET http://evil.example/ HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"a tunnel":                     "CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example:80\r\n\r\n",
		"HTTP/1.0 without a host":      "GET /api/test HTTP/1.0\r\n\r\n",
		"a host of nothing":            "GET /api/test HTTP/1.1\r\nHost:\r\n\r\n",
		"an upgrade to HTTP/2":         "GET /api/test HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n",
		"an upgrade to a web socket":   "GET /api/test HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
		"a second origin header":       "GET /api/stop HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example\r\n\r\n",
		"an origin in another case":    "GET /api/stop HTTP/1.1\r\nHost: localhost\r\noRIGIN: http://evil.example\r\n\r\n",
		"a preflight of another page":  "OPTIONS /api/stop HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nAccess-Control-Request-Method: POST\r\n\r\n",
		"an address with a port twice": "GET /api/test HTTP/1.1\r\nHost: 127.0.0.1:1:2\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			r := send(t, address, request)
			assert.Equal(t, http.StatusForbidden, r.status)
		})
	}
	t.Run("a tunnel to us is not possible", func(t *testing.T) {
		r := send(t, address, "CONNECT localhost:80 HTTP/1.1\r\nHost: localhost:80\r\n\r\n")
		assert.Equal(t, http.StatusMethodNotAllowed, r.status)
	})
	t.Run("an upgrade to HTTP/2 changes nothing", func(t *testing.T) {
		r := send(t, address, "GET /api/test HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__\r\n\r\n")
		assert.Equal(t, http.StatusOK, r.status)
		assert.JSONEq(t, `{"message":"Hello, world!"}`, r.body)
		assert.Equal(t, 1, r.major)
	})
	t.Run("the preface of HTTP/2 is refused", func(t *testing.T) {
		r := send(t, address, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
		assert.GreaterOrEqual(t, r.status, 400)
	})
}

const token = "correct horse"

func guarded(t *testing.T) http.Handler {
	t.Helper()
	return inside(t, func(c *server.Config) { c.Token = token }).Handler(8888)
}

func TestConfiguredTokenIsRequired(t *testing.T) {
	h := guarded(t)
	routes := everyRoute(h)
	for name, tc := range map[string]struct {
		header []string
		status int
	}{
		"without it, nothing is served":               {nil, 401},
		"another token is refused":                    {[]string{"Authorization", "Bearer wrong"}, 401},
		"a longer token is refused":                   {[]string{"Authorization", "Bearer " + token + "!"}, 401},
		"a shorter token is refused":                  {[]string{"Authorization", "Bearer " + token[:5]}, 401},
		"an empty token is refused":                   {[]string{"Authorization", "Bearer "}, 401},
		"the scheme must be right":                    {[]string{"Authorization", "Basic " + token}, 401},
		"the token alone is not enough":               {[]string{"Authorization", token}, 401},
		"the right token passes":                      {[]string{"Authorization", "Bearer " + token}, 0},
		"the scheme ignores case":                     {[]string{"Authorization", "bearer " + token}, 0},
		"the token itself is not a valid cookie":      {[]string{"Cookie", "portal_8888=" + token}, 401},
		"a foreign page is refused with the token":    {[]string{"Authorization", "Bearer " + token, "Origin", "http://evil.example"}, 403},
		"a foreign name is refused before the token":  {[]string{"Host", "evil.example"}, 403},
		"a wrong token does not fall back to cookies": {[]string{"Authorization", "Bearer wrong", "Cookie", cookieOf(t, h)}, 401},
	} {
		t.Run(name, func(t *testing.T) {
			h := guarded(t)
			for i, r := range routes {
				from := fmt.Sprintf("10.0.%d.%d:1", i/100, i%100) // another one each time, because wrong tokens of an address are limited
				w := ask(h, r[0], r[1], append(tc.header, "RemoteAddr", from)...)
				if tc.status == 0 {
					assert.NotContains(t, []int{401, 403}, w.Code, "%s %s", r[0], r[1])
					continue
				}
				assert.Equal(t, tc.status, w.Code, "%s %s", r[0], r[1])
				if tc.status == 401 {
					assert.Equal(t, "Bearer", w.Header().Get("WWW-Authenticate"))
				}
			}
		})
	}
}

func TestWrongTokensAreLimitedAndTheRightOneIsAlwaysAccepted(t *testing.T) {
	h := guarded(t)
	wrong := []string{"Authorization", "Bearer wrong"}
	for i := range 10 {
		assert.Equal(t, http.StatusUnauthorized, ask(h, "GET", []string{"/api/test", "/ui", "/rpc"}[i%3], wrong...).Code)
	}
	for _, target := range []string{"/api/test", "/?token=wrong", "/operations", "/health"} {
		w := ask(h, "GET", target, wrong...)
		assert.Equal(t, http.StatusTooManyRequests, w.Code, target)
		assert.NotEmpty(t, w.Header().Get("Retry-After"), target)
	}
	assert.Equal(t, http.StatusUnauthorized, ask(h, "GET", "/api/test").Code, "without a token nothing is guessed")
	assert.Equal(t, http.StatusOK, ask(h, "GET", "/api/test", "Authorization", "Bearer "+token).Code)
	assert.Equal(t, http.StatusOK, ask(h, "GET", "/api/test", "Cookie", cookieOf(t, h)).Code)
}

// cookieOf returns the cookie header that a browser sends after it presented the token.
func cookieOf(t *testing.T, h http.Handler) string {
	t.Helper()
	w := ask(h, "GET", "/?token="+url.QueryEscape(token))
	require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
	c := cookie(t, w)
	return c.Name + "=" + c.Value
}

func cookie(t *testing.T, w *httptest.ResponseRecorder) *http.Cookie {
	t.Helper()
	list := w.Result().Cookies()
	require.Len(t, list, 1)
	return list[0]
}

func TestTokenInAddressBecomesACookie(t *testing.T) {
	h := guarded(t)
	right := url.QueryEscape(token)
	for name, tc := range map[string]struct{ target, clean string }{
		"the page":                      {"/?token=" + right, "/"},
		"another query is kept":         {"/?a=1&token=" + right + "&b=2", "/?a=1&b=2"},
		"a file":                        {"/index.html?token=" + right, "/index.html"},
		"a path that looks like a host": {"//evil/?token=" + right, "/evil/"},
		"more slashes":                  {"////evil.example//x?token=" + right, "/evil.example/x"},
		"a backslash":                   {`/\evil.example/?token=` + right, "/%5Cevil.example/"},
		"dots before a host":            {"/.//evil.example/?token=" + right, "/evil.example/"},
		"dots up to a host":             {"/..//evil.example/?token=" + right, "/evil.example/"},
		"a scheme":                      {"/http://evil.example/?token=" + right, "/http:/evil.example/"},
		"a tab before a host":           {"/\t/evil.example/?token=" + right, "/%09/evil.example/"},
		"a line break":                  {"/\r\nLocation: http://evil.example/?token=" + right, "/%0D%0ALocation:%20http:/evil.example/"},
		"two tokens, the right one":     {"/?token=" + right + "&token=x", "/"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(h, "GET", tc.target, "Sec-Fetch-Site", "none")
			require.Equal(t, http.StatusSeeOther, w.Code, w.Body)
			assert.Equal(t, tc.clean, w.Header().Get("Location"))
			assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			assert.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"))
			assert.NotContains(t, w.Body.String(), right)
			c := cookie(t, w)
			assert.True(t, c.HttpOnly)
			assert.Equal(t, http.SameSiteStrictMode, c.SameSite)
			assert.Equal(t, "/", c.Path)
			assert.Empty(t, c.Domain)
			assert.NotContains(t, c.Value, token)
		})
	}
	t.Run("a browser with the cookie is redirected as well", func(t *testing.T) {
		for _, given := range []string{right, "old"} {
			w := ask(h, "GET", "/?token="+given, "Cookie", cookieOf(t, h))
			assert.Equal(t, http.StatusSeeOther, w.Code)
			assert.Equal(t, "/", w.Header().Get("Location"))
		}
	})
	for name, tc := range map[string]struct{ method, target string }{
		"a wrong token":       {"GET", "/?token=wrong"},
		"an empty token":      {"GET", "/?token="},
		"a wrong token first": {"GET", "/?token=x&token=" + right},
		"not by POST":         {"POST", "/?token=" + right},
	} {
		t.Run(name+" sets no cookie", func(t *testing.T) {
			w := ask(h, tc.method, tc.target)
			assert.Equal(t, http.StatusUnauthorized, w.Code)
			assert.Empty(t, w.Result().Cookies())
			assert.Empty(t, w.Header().Get("Location"))
		})
	}
	t.Run("a token sent by a foreign page is ignored", func(t *testing.T) {
		w := ask(h, "GET", "/?token="+right, "Sec-Fetch-Site", "cross-site")
		assert.Equal(t, http.StatusForbidden, w.Code)
		assert.Empty(t, w.Result().Cookies())
	})
}

func TestCookieIsValidForOnePortAndOneToken(t *testing.T) {
	h := guarded(t)
	own := cookieOf(t, h)
	other := inside(t, func(c *server.Config) { c.Token = token }).Handler(9999)
	changed := inside(t, func(c *server.Config) { c.Token = "another" }).Handler(8888)
	value := strings.TrimPrefix(own, "portal_8888=")

	assert.Equal(t, http.StatusOK, ask(h, "GET", "/api/test", "Cookie", own).Code)
	assert.Equal(t, http.StatusOK, ask(h, "GET", "/api/test", "Cookie", "a=b; "+own).Code)
	assert.Equal(t, http.StatusUnauthorized, ask(changed, "GET", "/api/test", "Cookie", own).Code, "another token")
	assert.Equal(t, http.StatusUnauthorized, ask(other, "GET", "/api/test", "Cookie", own).Code, "another port")
	assert.Equal(t, http.StatusUnauthorized, ask(other, "GET", "/api/test", "Cookie", "portal_9999="+value).Code, "another port, renamed")
	assert.Equal(t, http.StatusUnauthorized, ask(h, "GET", "/api/test", "Cookie", own+"0").Code)
	assert.Equal(t, http.StatusForbidden, ask(h, "GET", "/api/stop", "Cookie", own, "Origin", "http://localhost:9999").Code)
}

func TestRefusalsSayWhy(t *testing.T) {
	open := inside(t, func(c *server.Config) { c.AllowedHosts = []string{"box.example"} }).Handler(8888)
	for name, tc := range map[string]struct {
		handler http.Handler
		header  []string
		status  int
		text    string
	}{
		"no token":                               {guarded(t), nil, 401, "a token is required: open /?token="},
		"a wrong token":                          {guarded(t), []string{"Authorization", "Bearer other"}, 401, "wrong token: open /?token="},
		"the cookie of another portal":           {guarded(t), []string{"Cookie", "portal_8888=other"}, 401, "the cookie is of another portal or of an earlier token: open /?token="},
		"a browser that sends no origin":         {open, []string{"Host", "box.example:8888", "User-Agent", "Mozilla/5.0"}, 403, "browsers do not send an origin to this address"},
		"a cookie of another portal, no browser": {open, []string{"Host", "box.example:8888", "Cookie", "portal_8888=other"}, 403, "leave the cookie out, or send Authorization: Bearer"},
		"the same without the cookie":            {open, []string{"Host", "box.example:8888"}, 200, ""},
		"the same with a bearer":                 {open, []string{"Host", "box.example:8888", "Cookie", "portal_8888=other", "Authorization", "Bearer x"}, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(tc.handler, "GET", "/api/test", tc.header...)
			assert.Equal(t, tc.status, w.Code)
			assert.Contains(t, w.Body.String(), tc.text)
		})
	}
}

func TestTokenIsGeneratedBeyondLoopback(t *testing.T) {
	for name, tc := range map[string]struct {
		host   string
		needed bool
	}{
		"every address":          {"0.0.0.0", true},
		"every IPv6 address":     {"::", true},
		"an empty host":          {"", true},
		"the name of loopback":   {"localhost", false},
		"the IPv4 address":       {"127.0.0.1", false},
		"the IPv6 address":       {"::1", false},
		"the name in capitals":   {"LOCALHOST", false},
		"another local address":  {"127.0.0.2", false},
		"a mapped local address": {"::ffff:127.0.0.1", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := inside(t, func(c *server.Config) { c.Host = tc.host })
			address := serve(t, s)
			u, err := url.Parse(s.URL())
			require.NoError(t, err)
			made := u.Query().Get("token")
			r := send(t, reach(address, tc.host), "GET /api/test HTTP/1.1\r\nHost: localhost\r\n\r\n")
			if !tc.needed {
				assert.Empty(t, made)
				assert.Equal(t, http.StatusOK, r.status)
				return
			}
			assert.GreaterOrEqual(t, len(made), 26, "not to be guessed")
			assert.Equal(t, http.StatusUnauthorized, r.status)
			r = send(t, address, "GET /api/test HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "+made+"\r\n\r\n")
			assert.Equal(t, http.StatusOK, r.status)
			r = send(t, address, fmt.Sprintf("GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", u.RequestURI(), u.Host))
			assert.Equal(t, http.StatusSeeOther, r.status, "the address that is printed works")
		})
	}
}

// reach returns an address at which a portal on host can be reached.
func reach(address, host string) string {
	_, port, _ := strings.Cut(address, ":")
	switch host {
	case "::1":
		return "[::1]:" + port
	case "127.0.0.2":
		return "127.0.0.2:" + port
	}
	return address
}

func TestTokensAreNotLogged(t *testing.T) {
	var out bytes.Buffer
	c, err := server.Load(server.Sources{Flags: flags(t), Environ: []string{"HOME=" + t.TempDir()}})
	require.NoError(t, err)
	c.Token, c.CopilotPath, c.Ephemeral = "s3cret", noAgent, true
	h := server.New(t.Context(), c, "test", slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))).Handler(8888)
	for _, r := range [][]string{
		{"GET", "/?token=s3cret"},
		{"GET", "/?token=s3cret&x=%0a"},
		{"POST", "/api/stop?token=s3cret"},
		{"GET", "/api/nothing?token=s3cret", "Authorization", "Bearer s3cret"},
		{"GET", "/api/copilot/models", "Authorization", "Bearer s3cret"},
		{"GET", "/", "Host", "evil.example", "Authorization", "Bearer s3cret"},
	} {
		ask(h, r[0], r[1], r[2:]...)
	}
	assert.NotContains(t, out.String(), "s3cret")
	assert.Equal(t, 6, strings.Count(out.String(), "msg=request"), "each is logged: %s", out.String())
}

func TestConfiguredTokenIsRequiredOnLoopback(t *testing.T) {
	s := inside(t, func(c *server.Config) { c.Token = token })
	address := serve(t, s)
	r := send(t, address, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
	assert.Equal(t, http.StatusUnauthorized, r.status)
	assert.NotContains(t, s.URL(), "token", "one that is known stays out of logs")
}

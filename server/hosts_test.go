package server_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server"
)

// statusFor returns the status of a request to the API with a Host header, over a connection to an address.
func statusFor(h http.Handler, host, local string, header ...string) int {
	r := httptest.NewRequest(http.MethodGet, "/api/test", http.NoBody)
	r.Host = host
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	addr := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(local))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, addr)))
	return w.Code
}

func TestOnlyCanonicalLoopbackNamesAreAllowed(t *testing.T) {
	h := inside(t, func(c *server.Config) { c.AllowedHosts = []string{"portal.example", "192.0.2.7", "[2001:db8::7]"} }).Handler(8888)
	for host, want := range map[string]int{
		"localhost": 200, "localhost:8888": 200, "LocalHost:8888": 200, "localhost:": 200,
		"127.0.0.1": 200, "127.0.0.1:8888": 200, "127.9.9.9:8888": 200, "[::1]": 200, "[::1]:8888": 200,
		"portal.example": 200, "PORTAL.example:8888": 200, "192.0.2.7:8888": 200, "[2001:db8::7]:8888": 200,

		"0.0.0.0": 403, "0.0.0.0:8888": 403, "0:8888": 403, "0": 403, "[::]": 403, "[::]:8888": 403, "[0::0]:8888": 403,
		"[::ffff:127.0.0.1]:8888": 403, "[::ffff:7f00:1]:8888": 403, "[::127.0.0.1]:8888": 403, "[::ffff:0.0.0.0]:8888": 403,
		"[64:ff9b::7f00:1]:8888": 403, "[::1%25lo]:8888": 403, "[::1%lo]:8888": 403, "[0:0:0:0:0:0:0:1]:8888": 403,
		"[0::1]": 403, "[::01]": 403, "::1": 403, "[::1": 403, "::1]": 403, "[[::1]]": 403, "[127.0.0.1]:8888": 403, "[localhost]": 403,
		"2130706433": 403, "2130706433:8888": 403, "0x7f.1": 403, "0x7f000001": 403, "017700000001": 403, "127.1": 403,
		"127.0.1": 403, "127.0.0.01": 403, "0177.0.0.1": 403, "127.0.0.1.": 403, "127.0.0.1.:8888": 403,
		"localhost.": 403, "localhost.:8888": 403, ".localhost": 403, "portal.localhost:8888": 403, "localhost..": 403,
		"ip6-localhost": 403, "localhost.localdomain": 403, "portal.example.": 403, "x.portal.example": 403,
		"192.0.2.8": 403, "192.168.1.5:8888": 403, "[fe80::1]:8888": 403, "[2001:0db8::7]:8888": 403, "169.254.169.254": 403, "255.255.255.255": 403,
		"①②⑦.0.0.1": 403, "127。0。0。1": 403, "%6cocalhost": 403, "localhost%00": 403, "localhost%2e": 403, "local host": 403, "127.0.0.1 ": 403,
		"localhost:x": 403, "localhost:8888:8888": 403, "user@localhost": 403, "localhost/": 403, "localhost\\": 403, "localhost,evil.example": 403, "": 403, ":8888": 403,
	} {
		assert.Equal(t, want, statusFor(h, host, "127.0.0.1:8888"), "%q", host)
	}
}

func TestConnectedAddressIsAllowed(t *testing.T) {
	for _, listens := range []string{"0.0.0.0", "::", ""} {
		h := inside(t, func(c *server.Config) { c.Host, c.Token = listens, token }).Handler(8888)
		for _, tc := range []struct {
			local, host string
			want        int
		}{
			{"192.168.1.5:8888", "192.168.1.5:8888", 200},
			{"[::ffff:192.168.1.5]:8888", "192.168.1.5:8888", 200},
			{"[2001:db8::5]:8888", "[2001:db8::5]:8888", 200},
			{"[fe80::5%eth0]:8888", "[fe80::5]:8888", 200},
			{"127.0.0.1:8888", "localhost:8888", 200},
			{"192.168.1.5:8888", "192.168.1.6:8888", 403},
			{"192.168.1.5:8888", "192.168.1.5.nip.io:8888", 403},
			{"192.168.1.5:8888", "[::ffff:192.168.1.5]:8888", 403},
			{"127.0.0.1:8888", "0.0.0.0:8888", 403},
			{"[::1]:8888", "[::]:8888", 403},
			{"127.0.0.1:8888", "192.168.1.5:8888", 403},
		} {
			assert.Equal(t, tc.want, statusFor(h, tc.host, tc.local, "Authorization", "Bearer "+token), "%q: %s at %s", listens, tc.host, tc.local)
		}
	}
}

func TestConfiguredHostIsAllowed(t *testing.T) {
	for listens, host := range map[string]string{"192.0.2.1": "192.0.2.1:8888", "2001:db8::1": "[2001:db8::1]:8888", "box.example": "Box.Example"} {
		h := inside(t, func(c *server.Config) { c.Host = listens }).Handler(8888)
		assert.Equal(t, 200, statusFor(h, host, "127.0.0.1:8888"), host)
		assert.Equal(t, 403, statusFor(h, "0.0.0.0", "127.0.0.1:8888"))
	}
}

// Over plain HTTP, browsers send the origin of a GET only to loopback, and they send the cookie from pages on other
// ports of the same host.
func TestCookieWithoutOriginOpensPageOnly(t *testing.T) {
	const browser = "Mozilla/5.0 (X11; Linux x86_64) Chrome/142"
	change := func(c *server.Config) { c.Host, c.AllowedHosts = "0.0.0.0", []string{"portal.example"} }
	open := inside(t, change).Handler(8888)
	closed := inside(t, func(c *server.Config) { change(c); c.Token = token }).Handler(8888)
	own := cookieOf(t, closed)
	for name, tc := range map[string]struct {
		handler http.Handler
		header  []string
		foreign bool
	}{
		"a browser without a required token":              {open, []string{"User-Agent", browser}, true},
		"the cookie alone":                                {closed, []string{"Cookie", own, "User-Agent", browser}, true},
		"the cookie alone, of another program":            {closed, []string{"Cookie", own}, true},
		"the cookie and another scheme":                   {closed, []string{"Cookie", own, "Authorization", "Basic eDp5"}, true},
		"a script without a required token":               {open, []string{"User-Agent", "curl/8"}, false},
		"the page's own WebSocket":                        {closed, []string{"Cookie", own, "Origin", "http://portal.example:8888"}, false},
		"the page's own request for operations":           {closed, []string{"Cookie", own, "User-Agent", browser, "X-Session-Id", "x"}, false},
		"a browser behind a proxy with TLS":               {closed, []string{"Cookie", own, "User-Agent", browser, "Sec-Fetch-Site", "same-origin"}, false},
		"the token, from a program with a browser's name": {closed, []string{"User-Agent", browser, "Authorization", "Bearer " + token}, false},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range everyRoute(tc.handler) {
				w := ask(tc.handler, r[0], r[1], append(tc.header, "Host", "portal.example:8888")...)
				assert.Equal(t, tc.foreign && isForPrograms(r[1]), w.Code == http.StatusForbidden, "%s %s: %s", r[0], r[1], w.Body)
			}
			if tc.foreign {
				w := ask(tc.handler, "GET", "/api/test", append(tc.header, "Host", "127.0.0.1:8888")...)
				assert.Equal(t, http.StatusOK, w.Code, "on loopback, browsers send their origin")
			}
		})
	}
}

// isForPrograms reports whether a path belongs to a dialect.
func isForPrograms(path string) bool {
	switch path {
	case "/", "/index.html", "/nothing", "/health", "/version", "/metrics":
		return false
	}
	return true
}

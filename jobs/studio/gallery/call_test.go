package gallery_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/studio/gallery"
)

func TestCallsStayBelowBaseURL(t *testing.T) {
	const base = "https://api.example.com/v1"
	for target, want := range map[string]string{
		"https://api.example.com/v1":                 "https://api.example.com/v1",
		"https://api.example.com:443/v1/films?a=b#c": "https://api.example.com:443/v1/films?a=b",
		"HTTPS://API.example.com/v1/films":           "https://API.example.com/v1/films",
		"/films":                                     base + "/films",
		"/v1":                                        base,
		"/v1/films?a=b":                              base + "/films?a=b", // the description's server is relative
		"/v1/films/a%2Fb":                            base + "/films/a%2Fb",
		"/v10/films":                                 base + "/v10/films",
		"v1/films":                                   base + "/v1/films",
		"/v1/../admin":                               "",
		"films?a=%2F":                                base + "/films?a=%2F",
		"":                                           base,
		"?a=b":                                       base + "?a=b",
		"/films/a%2Fb":                               base + "/films/a%2Fb",
		"https://api.example.com/v1/%C3%A4":          base + "/%C3%A4",
		"https://api.example.com/v2":                 "",
		"https://api.example.com/v10":                "",
		"https://api.example.com/":                   "",
		"https://api.example.com/v1/../admin":        "",
		"https://api.example.com/v1/%2e%2e/admin":     "",
		"https://api.example.com/v1/..%2fadmin":       "",
		"https://api.example.com/v1/%252e%252e/admin": "",
		"https://api.example.com/v1/..;x=1/admin":     "",
		`https://api.example.com/v1/..\admin`:         "",
		"../admin":                                    "",
		"http://api.example.com/v1":                   "",
		"https://api.example.com:8443/v1":             "",
		"https://api.example.com.evil.example/v1":     "",
		"https://evil.example/v1":                     "",
		"https://user:word@api.example.com/v1":        "",
		"https://api.example.com@evil.example/v1":     "",
		"//evil.example/v1":                           "",
		"file:///etc/passwd":                          "",
		"unix:///var/run/docker.sock":                 "",
		"javascript:alert(1)":                         "",
		"https:api.example.com/v1":                    "",
		"https://api.example.com/v1\x00":              "",
	} {
		t.Run(target, func(t *testing.T) {
			got, err := gallery.Within(base, target)
			assert.Equal(t, want, got)
			if want == "" {
				assert.Equal(t, fault.Denied, fault.KindOf(err))
			}
		})
	}
}

func FuzzCallsStayBelowBaseURL(f *testing.F) {
	f.Add("https://api.example.com/v1/../x")
	f.Add("/%2e%2e/x")
	f.Fuzz(func(t *testing.T, target string) {
		got, err := gallery.Within("https://api.example.com/v1", target)
		if err != nil {
			return
		}
		u, err := url.Parse(got)
		require.NoError(t, err)
		assert.Equal(t, "https", u.Scheme)
		assert.Equal(t, "api.example.com", strings.ToLower(u.Hostname()))
		assert.True(t, u.Path == "/v1" || strings.HasPrefix(u.JoinPath().Path, "/v1/"), got)
	})
}

func TestForbiddenAddressesAreNotCalled(t *testing.T) {
	h := gallery.New(gallery.Options{Port: func() int { return 8888 }})
	for address, c := range map[string]struct{ private, may bool }{
		"93.184.215.14:443":          {false, true},
		"[2606:2800:21f::1]:443":     {false, true},
		"127.0.0.1:80":               {true, true},
		"10.1.2.3:80":                {true, true},
		"[fd00::1]:80":               {true, true},
		"127.0.0.1:81":               {false, false},
		"192.168.1.1:80":             {false, false},
		"[::1]:80":                   {false, false},
		"[::ffff:10.0.0.1]:80":       {false, false},
		"[64:ff9b::a00:1]:80":        {false, false},
		"100.64.0.1:80":              {false, false},
		"169.254.169.254:80":         {true, false},
		"[::ffff:169.254.169.254]:1": {true, false},
		"[fe80::1%eth0]:80":          {true, false},
		"168.63.129.16:80":           {true, false},
		"100.100.100.200:80":         {true, false},
		"[fd00:ec2::254]:80":         {true, false},
		"0.0.0.0:80":                 {true, false},
		"[::]:80":                    {true, false},
		"224.0.0.1:80":               {true, false},
		"255.255.255.255:80":         {true, false},
		"127.0.0.1:8888":             {true, false},
		"[::1]:8888":                 {true, false},
		"/run/docker.sock":           {true, false},
	} {
		t.Run(address, func(t *testing.T) {
			err := h.MayDial("tcp", address, c.private)
			assert.Equal(t, c.may, err == nil, "%v", err)
			if !c.may {
				assert.Equal(t, fault.Denied, fault.KindOf(err))
			}
		})
	}
	require.Error(t, h.MayDial("unix", "/run/docker.sock", true))
	require.Error(t, h.MayDial("udp", "93.184.215.14:53", true))
}

func TestCallIsMadeAsRequested(t *testing.T) {
	inGallery(t, says(inBlock(app("Films"))), func(g *testGallery) {
		var got *http.Request
		api := serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = r
			w.Header().Set("Set-Cookie", "a=b")
			w.Header().Set("X-Total", "7")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte("made"))
		})
		id := g.create()
		g.allow(id, api+"/v1")
		answer, err := g.Call(t.Context(), id, gallery.Request{Method: "post", URL: api + "/v1/films?x=1", Body: []byte("{}"), Header: [][2]string{
			{"Content-Type", "application/json"},
			{"X-Key", "k"},
			{"Cookie", "c=1"},
			{"Origin", "null"},
			{"Host", "evil.example"},
			{"Connection", "X-Key"},
			{"X-Forwarded-For", "1.1.1.1"},
			{"Sec-Fetch-Site", "none"},
			{"Referer", "x"},
			{"Proxy-Authorization", "x"},
		}})
		require.NoError(t, err)
		assert.Equal(t, http.StatusCreated, answer.Status)
		assert.Equal(t, "made", string(answer.Body))
		assert.Contains(t, answer.Header, [2]string{"X-Total", "7"})
		assert.NotContains(t, answer.Header, [2]string{"Set-Cookie", "a=b"})
		assert.Equal(t, "POST /v1/films?x=1", got.Method+" "+got.URL.String())
		assert.Equal(t, "k", got.Header.Get("X-Key"))
		assert.Equal(t, strings.TrimPrefix(api, "http://"), got.Host)
		for _, name := range []string{"Cookie", "Origin", "X-Forwarded-For", "Sec-Fetch-Site", "Referer", "Proxy-Authorization"} {
			assert.Empty(t, got.Header.Get(name), name)
		}
	})
}

func TestForbiddenCallsAreRejected(t *testing.T) {
	inGallery(t, says(inBlock(app("Films"))), func(g *testGallery) {
		calls := 0
		api := serve(t, func(w http.ResponseWriter, r *http.Request) {
			calls++
			switch r.URL.Path {
			case "/v1/away":
				http.Redirect(w, r, "/admin", http.StatusFound)
			case "/v1/switch":
				c, _, err := http.NewResponseController(w).Hijack()
				if assert.NoError(t, err) { // it stays open, so a reader would wait forever
					_, _ = c.Write([]byte("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n"))
				}
			case "/v1/long":
				_, _ = w.Write(make([]byte, 10<<20+1))
			}
		})
		other := serve(t, func(http.ResponseWriter, *http.Request) { assert.Fail(t, "another API was called") })
		id := g.create()
		call := func(r gallery.Request) error {
			_, err := g.Call(t.Context(), id, r)
			return err
		}
		assert.Equal(t, fault.Denied, fault.KindOf(call(gallery.Request{Method: "GET", URL: api + "/v1"})), "before the user has allowed it")
		g.allow(id, api+"/v1")
		require.NoError(t, call(gallery.Request{Method: "GET", URL: "/films"}))
		for name, c := range map[string]struct {
			request gallery.Request
			kind    fault.Kind
		}{
			"another host":               {gallery.Request{Method: "GET", URL: other}, fault.Denied},
			"another path":               {gallery.Request{Method: "GET", URL: api + "/admin"}, fault.Denied},
			"a tunnel":                   {gallery.Request{Method: "CONNECT", URL: "/"}, fault.Denied},
			"an invalid method":          {gallery.Request{Method: "GET /", URL: "/"}, fault.Invalid},
			"a header with a line break": {gallery.Request{Method: "GET", URL: "/", Header: [][2]string{{"A", "b\r\nHost: x"}}}, fault.Unavailable},
			"a long body":                {gallery.Request{Method: "POST", URL: "/", Body: make([]byte, 10<<20+1)}, fault.Invalid},
			"another protocol":           {gallery.Request{Method: "GET", URL: "/switch"}, fault.Unavailable},
			"a long answer":              {gallery.Request{Method: "GET", URL: "/long"}, fault.Unavailable},
		} {
			assert.Equal(t, c.kind, fault.KindOf(call(c.request)), name)
		}
		answer, err := g.Call(t.Context(), id, gallery.Request{Method: "GET", URL: "/away"})
		require.NoError(t, err)
		assert.Equal(t, http.StatusFound, answer.Status, "redirects are returned, not followed")
		assert.Equal(t, 4, calls, "films, switch, long, away")
		_, err = g.Allow(t.Context(), id, "", false)
		require.NoError(t, err)
		assert.Equal(t, fault.Denied, fault.KindOf(call(gallery.Request{Method: "GET", URL: "/"})), "revoked")
		_, err = g.Call(t.Context(), "nobody", gallery.Request{})
		assert.Equal(t, fault.NotFound, fault.KindOf(err))
	})
}

func TestInvalidBaseURLsAreRejected(t *testing.T) {
	inGallery(t, says(inBlock(app("Films"))), func(g *testGallery) {
		id := g.create()
		for _, base := range []string{"ftp://x", "api.example.com", "http://", "http://a:b@x", "http://x/?q", "http://x/#f", "http://x/../y", "unix:///x"} {
			_, err := g.Allow(t.Context(), id, base, true)
			assert.Equal(t, fault.Invalid, fault.KindOf(err), base)
		}
		p, err := g.Allow(t.Context(), id, "HTTP://LocalHost:1/v1/", false)
		require.NoError(t, err)
		assert.Equal(t, gallery.Permission{Allowed: true, Private: true}, p)
		i, err := g.Get(t.Context(), id)
		require.NoError(t, err)
		assert.Equal(t, "http://localhost:1/v1", i.Allowed)
	})
}

func serve(t *testing.T, answer http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(answer)
	t.Cleanup(s.Close)
	return s.URL
}

func (g *testGallery) allow(id, base string) {
	p, err := g.Allow(context.Background(), id, base, false)
	require.NoError(g.t, err)
	require.True(g.t, p.Allowed)
}

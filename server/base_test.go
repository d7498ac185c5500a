package server_test

import (
	"net/url"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

func TestBasePathServesEverythingBelowAndNothingElse(t *testing.T) {
	h := inside(t, func(c *server.Config) { c.BasePath = "/a/portal" }).Handler(8888)
	page := ask(h, "GET", "/a/portal/")
	assert.Contains(t, page.Body.String(), "<!doctype html>")
	for target, status := range map[string]int{
		"/a/portal/":                    200,
		"/a/portal/index.html":          200,
		"/a/portal/styles/base.css":     200,
		"/a/portal/health":              200,
		"/a/portal/version":             200,
		"/a/portal/metrics":             200,
		"/a/portal/api/test":            200,
		"/a/portal/api/copilot/session": 200,
		"/a/portal/api/nothing":         404,
		"/a/portal/api/":                404,
		"/a/portal/nothing":             404,
		"/a/portal//":                   404,
		"/a/portal/../portal/":          404,
		"/a/portal/a/portal/":           404,
	} {
		w := ask(h, "GET", target)
		assert.Equal(t, status, w.Code, target)
		assert.NotContains(t, w.Body.String(), "base_path", target)
	}
	for _, target := range []string{"/", "/index.html", "/health", "/api/test", "/a/", "/a", "/A/portal/", "/a/portalx", "/a/portalx/", "//a/portal/", "/x/a/portal/"} {
		for _, method := range []string{"GET", "POST"} {
			w := ask(h, method, target)
			assert.Equal(t, 404, w.Code, target)
			assert.JSONEq(t, `{"error":"the portal is served below /a/portal/ (base_path); a proxy in front of it must keep that prefix"}`, w.Body.String(), target)
		}
	}
	assert.Equal(t, 405, ask(h, "POST", "/a/portal/health").Code)
}

func TestBasePathWithoutSlashRedirectsToThePage(t *testing.T) {
	h := inside(t, func(c *server.Config) { c.BasePath = "/portal" }).Handler(8888)
	for target, to := range map[string]string{"/portal": "/portal/", "/portal?x=1": "/portal/?x=1"} {
		w := ask(h, "GET", target)
		assert.Equal(t, 303, w.Code)
		assert.Equal(t, to, w.Header().Get("Location"))
	}
	assert.Equal(t, 404, ask(h, "POST", "/portal").Code)
}

func TestTokenWorksBelowABasePath(t *testing.T) {
	s := inside(t, func(c *server.Config) { c.BasePath, c.Token = "/portal", token })
	h := s.Handler(8888)
	w := ask(h, "GET", "/portal/?token="+url.QueryEscape(token)+"&x=1")
	require.Equal(t, 303, w.Code)
	assert.Equal(t, "/portal/?x=1", w.Header().Get("Location"))
	c := cookie(t, w)
	assert.Equal(t, "/portal", c.Path, "other paths of the proxy's host do not see it")
	assert.Equal(t, 200, ask(h, "GET", "/portal/api/test", "Cookie", c.Name+"="+c.Value).Code)
	assert.Contains(t, ask(h, "GET", "/").Body.String(), "/portal/?token=…")

	away := inside(t, func(c *server.Config) { c.BasePath, c.Host = "/portal", "0.0.0.0" })
	serve(t, away)
	assert.Regexp(t, `^http://localhost:\d+/portal/\?token=.{26,}$`, away.URL())
}

func TestProxyNamesMustBeAllowedAndProxyHeadersAreIgnored(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--base-path", "/portal", "--token", "secret"}, Config: "allowed_hosts: [portal.example]"})
	p.URL = p.BehindProxy("/portal")
	for name, tc := range map[string]struct {
		header []string
		status int
	}{
		"the name that is allowed":                 {[]string{"Host", "portal.example"}, 200},
		"its page, which the proxy serves by TLS":  {[]string{"Host", "portal.example", "Origin", "https://portal.example"}, 200},
		"another name":                             {[]string{"Host", "other.example"}, 403},
		"another name that claims to be forwarded": {[]string{"Host", "other.example", "X-Forwarded-Host", "portal.example"}, 403},
		"a page of another name":                   {[]string{"Host", "portal.example", "Origin", "https://other.example", "X-Forwarded-Host", "other.example"}, 403},
	} {
		t.Run(name, func(t *testing.T) {
			status, _ := p.Do("GET", "/portal/api/test", "", append(tc.header, "Authorization", "Bearer secret")...)
			assert.Equal(t, tc.status, status)
		})
	}
}

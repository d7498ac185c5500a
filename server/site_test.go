package server_test

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/http/httptest"
	"path"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/assets"
	"github.com/copilot-portal/portal/server"
)

func TestSiteServesItsFiles(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	page := ask(h, "GET", "/")
	for target, kind := range map[string]string{
		"/":                "text/html; charset=utf-8",
		"/index.html":      "text/html; charset=utf-8",
		"/app.js":          "text/javascript; charset=utf-8",
		"/styles/base.css": "text/css; charset=utf-8",
		"/favicon.svg":     "image/svg+xml",
		"/?x=1":            "text/html; charset=utf-8",
		"/offline.html":    "text/html; charset=utf-8",
		"/sw.js":           "text/javascript; charset=utf-8",

		"/manifest.webmanifest": "application/manifest+json",
		"/icons/portal-192.png": "image/png",
		"/app.js?v=2":           "text/javascript; charset=utf-8",
	} {
		t.Run(target, func(t *testing.T) {
			w := ask(h, "GET", target)
			require.Equal(t, http.StatusOK, w.Code)
			assert.Equal(t, kind, w.Header().Get("Content-Type"))
			assert.NotEmpty(t, w.Body.String())
			head := ask(h, "HEAD", target)
			require.Equal(t, http.StatusOK, head.Code)
			assert.Empty(t, head.Body.String())
			assert.Equal(t, w.Header(), head.Header())
			assert.NotEmpty(t, w.Header().Get("Content-Length"))
		})
	}
	assert.Equal(t, page.Body.String(), ask(h, "GET", "/index.html").Body.String())
	assert.Contains(t, page.Body.String(), "<!doctype html>")
}

// fileAddress matches the addresses of scripts and style sheets in index.html.
var fileAddress = regexp.MustCompile(`(?:href|src)="([^"]+\.(?:js|css))"`)

func TestPageLoadsOneScriptAndOneStyleSheet(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	page := ask(h, "GET", "/").Body.String()
	found := fileAddress.FindAllStringSubmatch(page, -1)
	require.Len(t, found, 3)
	for i, name := range []string{"bundle/page.css", "theme.js", "bundle/page.js"} { // the theme is known before the first paint
		address := found[i][1]
		require.Regexp(t, `^v-[0-9a-f]{16}/`+name+`$`, address)
		w := ask(h, "GET", "/"+address)
		require.Equal(t, http.StatusOK, w.Code)
		assert.Equal(t, "private, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
		assert.NotRegexp(t, `^@?import\b`, w.Body.String()[:20], "it is complete")
		assert.Less(t, strings.Count(w.Body.String(), "\n"), 200, "it is small")
	}
	for _, w := range []*httptest.ResponseRecorder{ask(h, "GET", "/v-0123456789abcdef/bundle/page.js"), ask(h, "GET", "/"+path.Dir(path.Dir(found[0][1]))+"/index.html")} {
		assert.Equal(t, http.StatusNotFound, w.Code)
	}
	assert.Regexp(t, `^v-.*/bundle/page.css$`, found[0][1], "the styles come first: they can paint the page")
}

func TestBundleKeepsTheOrderOfStyleSheets(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	source, err := fs.ReadFile(assets.FS(), "index.html")
	require.NoError(t, err)
	style := ask(h, "GET", "/"+fileAddress.FindStringSubmatch(ask(h, "GET", "/").Body.String())[1]).Body.String()
	selector, from := regexp.MustCompile(`(?m)^[.#a-z][^{,:>~ ]* \{`), 0
	for _, sheet := range fileAddress.FindAllStringSubmatch(string(source), -1) {
		if path.Ext(sheet[1]) != ".css" {
			continue
		}
		text, err := fs.ReadFile(assets.FS(), sheet[1])
		require.NoError(t, err)
		first := strings.TrimSuffix(selector.FindString(string(text)), " {")
		at := strings.Index(style[from:], first)
		require.GreaterOrEqual(t, at, 0, "%s comes after the one before", sheet[1])
		from += at
	}
}

func TestDebugLoadsModulesOneByOne(t *testing.T) {
	h := inside(t, func(c *server.Config) { c.Debug = true }).Handler(8888)
	page := ask(h, "GET", "/").Body.String()
	named := map[string]bool{}
	for _, a := range fileAddress.FindAllStringSubmatch(page, -1) {
		w := ask(h, "GET", "/"+a[1])
		require.Equal(t, http.StatusOK, w.Code, a[1])
		assert.Equal(t, "private, max-age=31536000, immutable", w.Header().Get("Cache-Control"))
		_, name, _ := strings.Cut(a[1], "/")
		assert.Equal(t, ask(h, "GET", "/"+name).Body.String(), w.Body.String())
		named[name] = true
	}
	require.NoError(t, fs.WalkDir(assets.FS(), ".", func(name string, _ fs.DirEntry, err error) error {
		if (path.Ext(name) == ".js" || path.Ext(name) == ".css") && name != "sw.js" && !strings.Contains(name, "offline.") && path.Base(name) != "link.js" && path.Base(name) != "link.css" {
			assert.True(t, named[name], "the page preloads %s", name)
		}
		return err
	}))
	assert.NotRegexp(t, `(href|src)="(styles/|[a-z]+\.js)`, page, "nothing is requested each time")
	assert.NotContains(t, page, "bundle/")
}

func TestFilesAreCompressedIfAskedFor(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	plain := ask(h, "GET", "/app.js")
	for name, tc := range map[string]struct {
		header []string
		zipped bool
	}{
		"by nobody":              {nil, false},
		"by a browser":           {[]string{"Accept-Encoding", "gzip, deflate, br, zstd"}, true},
		"with a weight":          {[]string{"Accept-Encoding", "br;q=1.0, gzip;q=0.8"}, true},
		"not at all":             {[]string{"Accept-Encoding", "gzip;q=0, identity"}, false},
		"in another way":         {[]string{"Accept-Encoding", "br"}, false},
		"in parts, as they are":  {[]string{"Accept-Encoding", "gzip", "Range", "bytes=0-"}, false},
		"if it is not known yet": {[]string{"Accept-Encoding", "gzip", "If-None-Match", plain.Header().Get("ETag")}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(h, "GET", "/app.js", tc.header...)
			assert.Equal(t, "Accept-Encoding", w.Header().Get("Vary"))
			assert.Equal(t, strconv.Itoa(w.Body.Len()), w.Header().Get("Content-Length"))
			if !tc.zipped {
				assert.Empty(t, w.Header().Get("Content-Encoding"))
				assert.Equal(t, plain.Body.String(), w.Body.String())
				return
			}
			require.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
			assert.NotEqual(t, plain.Header().Get("ETag"), w.Header().Get("ETag"), "a strong tag names one encoding")
			r, err := gzip.NewReader(w.Body)
			require.NoError(t, err)
			text, err := io.ReadAll(r)
			require.NoError(t, err)
			assert.Equal(t, plain.Body.String(), string(text))
			again := ask(h, "GET", "/app.js", "Accept-Encoding", "gzip", "If-None-Match", w.Header().Get("ETag"))
			assert.Equal(t, http.StatusNotModified, again.Code)
			assert.Empty(t, again.Header().Get("Content-Encoding"))
		})
	}
}

// The page must be small enough for a slow network.
func TestFirstVisitNeedsFewBytes(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	page := ask(h, "GET", "/", "Accept-Encoding", "gzip")
	size := page.Body.Len()
	for _, a := range fileAddress.FindAllStringSubmatch(ask(h, "GET", "/").Body.String(), -1) {
		size += ask(h, "GET", "/"+a[1], "Accept-Encoding", "gzip").Body.Len()
	}
	t.Logf("%d bytes", size)
	assert.Less(t, size, 120_000)
}

func TestMediaTypesDoNotDependOnTheSystem(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	right := ask(h, "GET", "/app.js").Header().Get("Content-Type")
	require.NoError(t, mime.AddExtensionType(".js", "text/plain")) // as in some registries
	defer mime.AddExtensionType(".js", right)
	assert.Equal(t, "text/javascript; charset=utf-8", ask(h, "GET", "/app.js").Header().Get("Content-Type"))
}

func TestFilesAreCachedUntilTheyChange(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	first := ask(h, "GET", "/app.js")
	tag := first.Header().Get("ETag")
	require.Regexp(t, `^"[0-9a-f]{24}"$`, tag)
	assert.Equal(t, "no-cache", first.Header().Get("Cache-Control"))
	for name, tc := range map[string]struct {
		header []string
		status int
	}{
		"an unchanged file is not sent again": {[]string{"If-None-Match", tag}, 304},
		"a weak tag is accepted":              {[]string{"If-None-Match", "W/" + tag}, 304},
		"one of several is enough":            {[]string{"If-None-Match", `"x", ` + tag}, 304},
		"another file is sent":                {[]string{"If-None-Match", `"x"`}, 200},
		"a range is sent":                     {[]string{"Range", "bytes=0-9"}, 206},
		"a range beyond the end is refused":   {[]string{"Range", "bytes=99999999-"}, 416},
		"dates are ignored":                   {[]string{"If-Modified-Since", "Fri, 01 Jan 2100 00:00:00 GMT"}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(h, "GET", "/app.js", tc.header...)
			assert.Equal(t, tc.status, w.Code)
			if tc.status == 304 {
				assert.Empty(t, w.Body.String())
				assert.Equal(t, tag, w.Header().Get("ETag"))
			}
		})
	}
	assert.NotEqual(t, tag, ask(h, "GET", "/index.html").Header().Get("ETag"))
}

func TestMissingFilesAreNotServed(t *testing.T) {
	address := serve(t, inside(t, nil))
	for name, tc := range map[string]struct {
		target string
		status int
	}{
		"a missing file":                {"/nothing.js", 404},
		"a directory":                   {"/styles", 404},
		"a directory with its slash":    {"/styles/", 404},
		"the root again":                {"//", 404},
		"a file after two slashes":      {"//index.html", 404},
		"slashes inside":                {"/styles//base.css", 404},
		"a dot":                         {"/./index.html", 404},
		"a slash at the end of a file":  {"/index.html/", 404},
		"dots that leave the site":      {"/../server.go", 404},
		"dots inside":                   {"/styles/../index.html", 404},
		"encoded dots":                  {"/%2e%2e/server.go", 404},
		"encoded dots and slashes":      {"/styles%2f..%2findex.html", 404},
		"dots encoded twice":            {"/%252e%252e/server.go", 404},
		"an encoded slash":              {"/%2findex.html", 404},
		"a backslash":                   {`/styles\base.css`, 404},
		"an encoded backslash":          {"/..%5cserver.go", 404},
		"an encoded NUL":                {"/index.html%00", 404},
		"a NUL":                         {"/index.html\x00", 400},
		"an invalid encoding":           {"/%zz", 400},
		"invalid UTF-8":                 {"/%ff%fe", 404},
		"the source of the site":        {"/assets.go", 404},
		"a test of the site":            {"/store.test.mjs", 404},
		"the name of the directory":     {"/assets/index.html", 404},
		"a very long path":              {"/" + strings.Repeat("a", 30000), 404},
		"a path that exceeds the limit": {"/" + strings.Repeat("a", 100000), 431},
	} {
		t.Run(name, func(t *testing.T) {
			r := send(t, address, "GET "+tc.target+" HTTP/1.1\r\nHost: localhost\r\n\r\n")
			assert.Equal(t, tc.status, r.status, r.body)
			assert.Empty(t, r.header.Get("Location"))
			assert.NotContains(t, r.body, "base.css", "no listing")
			if tc.status == 404 {
				assert.JSONEq(t, `{"error":"nothing exists at this path"}`, r.body)
			}
		})
	}
}

func TestEveryResponseHasSecurityHeaders(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	for _, r := range [][]string{
		{"GET", "/"},
		{"GET", "/app.js"},
		{"GET", "/nothing"},
		{"GET", "/api/test"},
		{"GET", "/api/nothing"},
		{"GET", "/health"},
		{"POST", "/health"},
		{"POST", "/"},
		{"GET", "/", "Origin", "http://evil.example"},
		{"GET", "/", "Host", "evil.example"},
	} {
		w := ask(h, r[0], r[1], r[2:]...)
		assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"), "%v", r)
		assert.Equal(t, "no-referrer", w.Header().Get("Referrer-Policy"), "%v", r)
		assert.Equal(t, "same-origin", w.Header().Get("Cross-Origin-Resource-Policy"), "%v", r)
		policy := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; font-src 'self'; manifest-src 'self'; " +
			"frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
		if strings.HasPrefix(r[1], "/api/") {
			policy = "default-src 'none'; frame-ancestors 'none'"
		}
		assert.Equal(t, policy, w.Header().Get("Content-Security-Policy"), "%v", r)
	}
}

func TestFrameOfInterfacesHasItsOwnPolicy(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	version := regexp.MustCompile(`v-[0-9a-f]{16}`).FindString(ask(h, "GET", "/").Body.String())
	for target, caching := range map[string]string{"/frame.html": "no-cache", "/" + version + "/frame.html": "private, max-age=31536000, immutable"} {
		w := ask(h, "GET", target)
		require.Equal(t, http.StatusOK, w.Code)
		script := regexp.MustCompile(`(?s)<script>(.*)</script>`).FindStringSubmatch(w.Body.String())
		require.NotNil(t, script)
		assert.NotContains(t, script[1], "</script", "the script contains no end tag")
		assert.NotContains(t, script[1], "<!--")
		sum := sha256.Sum256([]byte(script[1]))
		assert.Equal(t, "sandbox allow-scripts; default-src 'none'; script-src 'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"' blob:; "+
			"style-src 'unsafe-inline'; img-src data:; connect-src 'none'; worker-src 'none'; form-action 'none'; base-uri 'none'; "+
			"frame-ancestors 'self'; require-trusted-types-for 'script'; trusted-types portal", w.Header().Get("Content-Security-Policy"))
		assert.Equal(t, "off", w.Header().Get("X-DNS-Prefetch-Control"))
		assert.Equal(t, "()", w.Header().Get("Connection-Allowlist"))
		assert.Contains(t, w.Header().Get("Permissions-Policy"), "payment=()")
		assert.Equal(t, caching, w.Header().Get("Cache-Control"))
		assert.NotContains(t, strings.Replace(w.Body.String(), script[0], "", 1), "<script", "there is no other script")
	}
	assert.Equal(t, http.StatusNotFound, ask(h, "GET", "/frame/boot.js").Code)
	assert.Equal(t, http.StatusNotFound, ask(h, "GET", "/vendor/react.js").Code)
}

func TestClientErrorsAreJSON(t *testing.T) {
	h := inside(t, nil).Handler(8888)
	for name, tc := range map[string]struct {
		method, target string
		status         int
		allow          string
	}{
		"an unknown path of the API":         {"GET", "/api/nothing", 404, ""},
		"the API itself":                     {"GET", "/api", 404, ""},
		"the API with its slash":             {"GET", "/api/", 404, ""},
		"an additional slash":                {"GET", "/api/test/", 404, ""},
		"slashes inside":                     {"GET", "/api//test", 404, ""},
		"an unknown path by POST":            {"POST", "/api/nothing", 404, ""},
		"posting to what can be got":         {"POST", "/api/test", 405, "GET"},
		"getting what changes something":     {"GET", "/api/copilot/session/start/demo", 405, "POST"},
		"an unknown method":                  {"BREW", "/api/test", 405, "GET"},
		"deleting the page":                  {"DELETE", "/", 405, "GET, HEAD"},
		"posting to a file":                  {"POST", "/app.js", 405, "GET, HEAD"},
		"posting to nothing":                 {"POST", "/nothing", 404, ""},
		"posting to the state of the portal": {"POST", "/health", 405, "GET"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(h, tc.method, tc.target)
			assert.Equal(t, tc.status, w.Code)
			assert.Equal(t, tc.allow, w.Header().Get("Allow"))
			assert.Equal(t, "application/json; charset=utf-8", w.Header().Get("Content-Type"))
			assert.Regexp(t, `^\{"error":".+"\}$`, w.Body.String())
			if tc.allow != "" {
				assert.Contains(t, w.Body.String(), "use "+tc.allow)
			}
		})
	}
}

func TestPanicFailsOnlyItsRequest(t *testing.T) {
	s := inside(t, nil)
	t.Run("before anything is written", func(t *testing.T) {
		w := ask(s.Recovered(func(*gin.Context) { panic("secret") }), "GET", "/")
		assert.Equal(t, http.StatusInternalServerError, w.Code)
		assert.JSONEq(t, `{"error":"internal error; see the portal's log"}`, w.Body.String())
	})
	t.Run("in the middle of a response, the connection is aborted", func(t *testing.T) {
		h := s.Recovered(func(c *gin.Context) {
			c.String(http.StatusOK, "half")
			panic("secret")
		})
		assert.PanicsWithValue(t, http.ErrAbortHandler, func() { ask(h, "GET", "/") })
	})
}

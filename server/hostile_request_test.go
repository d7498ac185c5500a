package server_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

// A browser sends these requests of any page without asking the portal first, those from another port of the same host with the
// cookie. The request must do nothing: that the page cannot read the answer is too late.
func TestSimpleRequestsOfForeignPagesHaveNoEffect(t *testing.T) {
	s := inside(t, withToken)
	h := s.Handler(8888)
	cookie := cookieOf(t, h)
	state := func(session string) string {
		text := ask(h, "GET", "/api/copilot/session", "Authorization", "Bearer "+token).Body.String()
		_, rest, found := strings.Cut(text, session)
		require.True(t, found, text)
		rest, _, _ = strings.Cut(rest, `"sessionId"`)
		return rest
	}
	effects := map[string]func(session string) (method, target, kind, body string){
		"a GET that closes a session": func(id string) (string, string, string, string) {
			return "GET", "/api/copilot/session/" + id + "/stop", "", ""
		},
		"an empty POST": func(id string) (string, string, string, string) {
			return "POST", "/api/copilot/session/" + id + "/stop", "", ""
		},
		"a form": func(id string) (string, string, string, string) {
			return "POST", "/api/copilot/session/" + id + "/rename", "application/x-www-form-urlencoded", "title=x"
		},
		"a call as plain text": func(id string) (string, string, string, string) {
			return "POST", "/rpc", "text/plain", `{"jsonrpc":"2.0","id":1,"method":"session.close","params":{"sessionId":"` + id + `"}}`
		},
	}
	pages := map[string][]string{
		"a script of another site":         {"Origin", "http://evil.example", "Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors"},
		"an old browser":                   {"Origin", "http://evil.example"},
		"a page without an origin":         {"Origin", "null"},
		"an image":                         {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "no-cors", "Sec-Fetch-Dest", "image"},
		"a link":                           {"Sec-Fetch-Site", "cross-site", "Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"},
		"another port, without the origin": {"Sec-Fetch-Site", "same-site", "Sec-Fetch-Mode", "no-cors"},
		"another port":                     {"Origin", "http://localhost:9999", "Sec-Fetch-Site", "same-site"},
	}
	for name, effect := range effects {
		id, err := s.StartSession(t.Context())
		require.NoError(t, err)
		method, target, kind, body := effect(id)
		before := state(id)
		for page, header := range pages {
			w := sendBody(h, method, target, body, append([]string{"Content-Type", kind, "Cookie", cookie}, header...)...)
			assert.Equal(t, http.StatusForbidden, w.Code, "%s of %s", name, page)
			assert.Equal(t, before, state(id), "%s of %s", name, page)
		}
		own := sendBody(h, method, target, body, "Content-Type", kind, "Cookie", cookie, "Origin", "http://localhost:8888")
		assert.Equal(t, http.StatusOK, own.Code, "%s: %s", name, own.Body)
		assert.NotEqual(t, before, state(id), "control: %s of the portal's page has an effect", name)
	}
}

// sendBody sends a request with a body to a handler.
func sendBody(h http.Handler, method, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8888"+target, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestForgedAddressesDoNotEvadeTheLimitOfWrongTokens(t *testing.T) {
	h := guarded(t)
	codes := map[int]int{}
	for i := range 40 {
		forged := "198.51.100." + string(rune('0'+i%10)) + string(rune('0'+i/10))
		w := ask(h, "GET", "/api/test", "Authorization", "Bearer wrong", "X-Forwarded-For", forged, "X-Real-Ip", forged, "Forwarded", "for="+forged)
		codes[w.Code]++
	}
	assert.Equal(t, map[int]int{http.StatusUnauthorized: 10, http.StatusTooManyRequests: 30}, codes)
}

// endlessBody is a body that never ends. It counts what is read of it.
type endlessBody struct{ read int }

func (e *endlessBody) Read(b []byte) (int, error) {
	if e.read > 200<<20 {
		return 0, io.ErrUnexpectedEOF // a failing test must end
	}
	for i := range b {
		b[i] = ' '
	}
	e.read += len(b)
	return len(b), nil
}

func TestEndlessBodiesAreCutOffOnEveryRoute(t *testing.T) {
	t.Parallel()
	const most = 32<<20 + 1<<20 // the longest prompt or message, and what is read ahead
	s := inside(t, nil)
	h := s.Handler(8888)
	longest := 0
	for _, route := range everyRoute(h) {
		id, err := s.StartSession(t.Context())
		require.NoError(t, err)
		target := strings.Replace(route[1], "/session/x", "/session/"+id, 1)
		body := &endlessBody{}
		r := httptest.NewRequest(route[0], "http://localhost:8888"+target, body)
		r.ContentLength = -1
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		assert.LessOrEqual(t, body.read, most, "%s %s", route[0], target)
		longest = max(longest, body.read)
	}
	assert.Greater(t, longest, 16<<20, "control: bodies are read")
}

func TestLargeHeadsAreRefusedBeforeTheToken(t *testing.T) {
	address := serve(t, inside(t, withToken))
	for name, request := range map[string]string{
		"one long header":    "GET /api/test HTTP/1.1\r\nHost: localhost\r\nX-Long: " + strings.Repeat("x", 100<<10) + "\r\n\r\n",
		"many short headers": "GET /api/test HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("X-A: b\r\n", 20_000) + "\r\n",
		"many cookies":       "GET /api/test HTTP/1.1\r\nHost: localhost\r\nCookie: " + strings.Repeat("portal_8888=x; ", 10_000) + "\r\n\r\n",
		"a long address":     "GET /api/test?" + strings.Repeat("x", 100<<10) + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
	} {
		assert.Equal(t, http.StatusRequestHeaderFieldsTooLarge, send(t, address, request).status, name)
	}
}

func TestRequestsCannotForgeLinesOfTheLog(t *testing.T) {
	var out bytes.Buffer
	c, err := server.Load(server.Sources{Flags: flags(t), Environ: []string{"HOME=" + t.TempDir()}})
	require.NoError(t, err)
	c.CopilotPath, c.Ephemeral = noAgent, true
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug}))
	h := server.New(t.Context(), c, "test", log).Handler(8888)
	const forged = "\r\ntime=2000-01-01T00:00:00Z level=ERROR msg=forged \x1b]0;title\a\u202e\u009b31m"
	for _, r := range [][]string{
		{"GET", "/" + forged},
		{"GET", "/api/copilot/session/" + forged + "/live"},
		{"POST", "/api/copilot/session/start/" + forged},
		{"GET", "/?token=" + forged},
		{"GET", "/", "Host", forged},
		{"GET", "/", "Origin", forged, "User-Agent", forged, "X-Request-Id", forged, "Authorization", "Bearer " + forged},
	} {
		out.Reset()
		ask(h, r[0], r[1], r[2:]...)
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		requests := 0
		for _, line := range lines {
			assert.True(t, strings.HasPrefix(line, "time=2"), "%q", line)
			assert.NotContains(t, line, "time=2000-01-01T00:00:00Z level=ERROR msg=forged ", "%q", r)
			assert.Negative(t, strings.IndexFunc(line, isHostile), "%q", line)
			if strings.Contains(line, "msg=request") {
				requests++
			}
		}
		assert.Equal(t, 1, requests, "each request has one line: %q", out.String())
	}
}

// isHostile reports whether a character may change how a terminal shows the rest.
func isHostile(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

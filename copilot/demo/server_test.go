package demo_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
)

func start(t *testing.T) *demo.Server {
	t.Helper()
	s, err := demo.Start()
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, s.Close()) })
	return s
}

// send posts a request to a running server. The test closes the answer.
func send(t *testing.T, s *demo.Server, b body) io.Reader {
	t.Helper()
	r := b.http(t.Context(), t)
	out, err := http.NewRequestWithContext(t.Context(), r.Method, s.URL()+"/chat/completions", r.Body)
	require.NoError(t, err)
	out.Header.Set("Authorization", "Bearer "+s.Key())
	resp, err := http.DefaultClient.Do(out)
	require.NoError(t, err)
	t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}

func TestServerAnswersOnLoopback(t *testing.T) {
	s := start(t)
	assert.Regexp(t, `^http://127\.0\.0\.1:\d+/v1$`, s.URL())
	assert.NotEqual(t, s.Key(), start(t).Key())

	answer := send(t, s, request(user("say `hello there`")))
	b, err := io.ReadAll(answer)
	require.NoError(t, err)
	assert.Equal(t, "hello there", readReply(t, string(b)).content)
}

func TestBreakCutsTheStream(t *testing.T) {
	answer := send(t, start(t), request(user("say `Well. ` break")))
	b, err := io.ReadAll(answer)

	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	r := readReply(t, string(b))
	assert.Equal(t, "Well. This sentence will never be", r.content)
	assert.False(t, r.done)
}

func TestCloseEndsOpenAnswers(t *testing.T) {
	s, err := demo.Start()
	require.NoError(t, err)
	answer := send(t, s, request(user("wait 1 hour")))
	line, err := bufio.NewReader(answer).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, "waiting")

	require.NoError(t, s.Close())
	_, err = io.ReadAll(answer)
	require.Error(t, err)
	require.NoError(t, s.Close(), "a second Close does nothing")
}

func TestRefusals(t *testing.T) {
	good := `{"messages":[{"role":"user","content":"say 'x'"}]}`
	for _, tt := range []struct {
		name, method, path, auth, body string
		status                         int
	}{
		{"the key is missing", "POST", "/v1/chat/completions", "", good, http.StatusUnauthorized},
		{"the key is wrong", "GET", "/v1/models", "Bearer other", "", http.StatusUnauthorized},
		{"the scheme is wrong", "GET", "/v1/models", "Basic secret", "", http.StatusUnauthorized},
		{"the path is unknown", "GET", "/v1/embeddings", "Bearer secret", "", http.StatusNotFound},
		{"the method is wrong", "GET", "/v1/chat/completions", "Bearer secret", "", http.StatusNotFound},
		{"the body is empty", "POST", "/v1/chat/completions", "Bearer secret", "", http.StatusBadRequest},
		{"the body is not JSON", "POST", "/v1/chat/completions", "Bearer secret", "{", http.StatusBadRequest},
		{"the body continues after its end", "POST", "/v1/chat/completions", "Bearer secret", good + "x", http.StatusBadRequest},
		{"the body is null", "POST", "/v1/chat/completions", "Bearer secret", "null", http.StatusBadRequest},
		{"there is no prompt", "POST", "/v1/chat/completions", "Bearer secret", `{"messages":[{"role":"system"}]}`, http.StatusBadRequest},
		{
			"the content is a number", "POST", "/v1/chat/completions", "Bearer secret",
			`{"messages":[{"role":"user","content":1}]}`, http.StatusBadRequest,
		},
		{
			"the content contains a number", "POST", "/v1/chat/completions", "Bearer secret",
			`{"messages":[{"role":"user","content":[1]}]}`, http.StatusBadRequest,
		},
		{
			"the body is too large", "POST", "/v1/chat/completions", "Bearer secret",
			`"` + strings.Repeat(" ", 64<<20) + `"`, http.StatusRequestEntityTooLarge,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), tt.method, tt.path, strings.NewReader(tt.body))
			r.Header.Set("Authorization", tt.auth)
			w := httptest.NewRecorder()
			demo.NewHandler(key).ServeHTTP(w, r)

			assert.Equal(t, tt.status, w.Code)
			assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			assert.Regexp(t, `^{"error":{"message":".+","type":"invalid_request_error","param":null,"code":".+"}}`, w.Body.String())
		})
	}
}

func TestEmptyKeyOpensNothing(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", nil)
	r.Header.Set("Authorization", "Bearer ")
	w := httptest.NewRecorder()
	demo.NewHandler("").ServeHTTP(w, r)

	assert.Equal(t, http.StatusUnauthorized, w.Code)
}

func TestModelIsListed(t *testing.T) {
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/models", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	demo.NewHandler(key).ServeHTTP(w, r)

	assert.JSONEq(t, `{"object":"list","data":[{"id":"demo","object":"model","created":0,"owned_by":"Demo (scripted, offline)"}]}`, w.Body.String())
}

func FuzzRequest(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"run ` + "`ls`" + `"}],"tools":[{"function":{"name":"bash"}}]}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"role":"assistant","tool_calls":[{"id":"demo_1"}]},{"role":"tool","tool_call_id":"demo_1","content":"x"}]}`))
	f.Add([]byte(`{"messages":[{"role":"system","content":null},{"role":"user"}],"stream":true,"tool_choice":{"type":"auto"}}`))
	f.Add([]byte(`{"messages":[{"role":"user","content":"Some of the conversation history has been summarized<user_message>a</user_message>"}]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // no script takes long
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", bytes.NewReader(raw))
		r.Header.Set("Authorization", "Bearer "+key)
		defer func() {
			if err, ok := recover().(error); ok && !errors.Is(err, http.ErrAbortHandler) {
				panic(err)
			}
		}()
		demo.NewHandler(key).ServeHTTP(httptest.NewRecorder(), r)
	})
}

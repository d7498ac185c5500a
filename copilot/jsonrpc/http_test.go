package jsonrpc_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestHTTP(t *testing.T) {
	tests := []struct {
		name, method string
		body         io.Reader
		status       int
		want         string
	}{
		{"a request is answered", "POST", strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"echo","params":[1]}`), 200, `{"jsonrpc":"2.0","id":"a","result":[1]}`},
		{"a notification gets no response", "POST", strings.NewReader(`{"jsonrpc":"2.0","method":"echo"}`), 204, ""},
		{"a response gets no response", "POST", strings.NewReader(`{"jsonrpc":"2.0","id":1,"result":1}`), 204, ""},
		{"an error has the status 200", "POST", strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"no"}`), 200, `{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":"Method not found","data":"there is no method \"no\""}}`},
		{"so has an invalid request", "POST", strings.NewReader(`{"id":2}`), 200, `{"jsonrpc":"2.0","id":2,"error":{"code":-32600,"message":"Invalid Request","data":"\"jsonrpc\" must be \"2.0\""}}`},
		{"so has invalid JSON", "POST", strings.NewReader(`{`), 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"unexpected end of JSON input"}}`},
		{"so has an empty body", "POST", strings.NewReader(""), 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"unexpected end of JSON input"}}`},
		{"so has a body that is too long", "POST", strings.NewReader(strings.Repeat("1", 101)), 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"the message is too long: a body may have 100 bytes"}}`},
		{"so has an incomplete body", "POST", iotest.ErrReader(errFull), 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"no space left"}}`},
		{"a batch above the maximum size is refused", "POST", strings.NewReader(`[1,2,3]`), 200, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":"the batch has 3 messages, 2 are allowed"}}`},
		{"other methods are not allowed", "GET", nil, 405, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request","data":"requests come with POST, not with GET"}}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := jsonrpc.NewHTTP(jsonrpc.Methods{"echo": handle(echo)}, jsonrpc.Options{Body: 100, Batch: 2})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), tt.method, "/rpc", tt.body))
			assert.Equal(t, tt.status, w.Code)
			assert.Equal(t, tt.want, w.Body.String())
			if tt.want != "" {
				assert.Equal(t, "application/json", w.Header().Get("Content-Type"))
			}
			if tt.status == http.StatusMethodNotAllowed {
				assert.Equal(t, "POST", w.Header().Get("Allow"))
			}
		})
	}
}

func TestFirstFinderThatHasAMethodCounts(t *testing.T) {
	says := func(word string) jsonrpc.Method {
		return handle(func(*jsonrpc.Request) (any, error) { return word, nil })
	}
	h := jsonrpc.NewHTTP(jsonrpc.Chain{jsonrpc.Methods{"both": says("own")}, jsonrpc.Methods{"both": says("shared"), "other": says("shared")}}, jsonrpc.Options{})
	for method, want := range map[string]string{"both": `"result":"own"`, "other": `"result":"shared"`, "none": "-32601"} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/rpc", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`)))
		assert.Contains(t, w.Body.String(), want, method)
	}
}

func TestHTTPBatchIsHandledConcurrentlyWithinLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 50
		var parts, want []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"sleep"}`, i))
			want = append(want, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"rested"}`, i))
		}
		begin := time.Now()
		h := jsonrpc.NewHTTP(jsonrpc.Methods{"sleep": handle(sleep)}, jsonrpc.Options{Concurrent: 10})
		got := h.Answer(t.Context(), []byte("["+strings.Join(parts, ",")+"]"))
		assert.Equal(t, "["+strings.Join(want, ",")+"]", string(got))
		assert.Equal(t, 5*time.Hour, time.Since(begin))
	})
}

func TestInOrderMethodsRunInOrderWithinHTTPBatch(t *testing.T) {
	var got bytes.Buffer
	next := handle(func(r *jsonrpc.Request) (any, error) { got.Write(r.Params); return nil, nil })
	h := jsonrpc.NewHTTP(jsonrpc.Methods{"next": withReadLoop(next)}, jsonrpc.Options{})
	one := `{"jsonrpc":"2.0","method":"next","params":[%d]}`
	assert.Empty(t, h.Answer(t.Context(), fmt.Appendf(nil, "["+one+","+one+","+one+"]", 1, 2, 3)))
	assert.Equal(t, "[1][2][3]", got.String())
}

func TestHTTPResponsePrecedesAfterFunctions(t *testing.T) {
	goOn, done := make(chan bool), make(chan bool)
	start := handle(func(r *jsonrpc.Request) (any, error) {
		assert.Nil(t, r.Peer)
		r.After(func() {
			<-goOn
			close(done)
		})
		return 1, nil
	})
	server := httptest.NewServer(jsonrpc.NewHTTP(jsonrpc.Methods{"start": start}, jsonrpc.Options{}))
	defer server.Close()
	answer, err := server.Client().Post(server.URL, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"start"}`))
	require.NoError(t, err)
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":1}`, string(body))
	close(goOn)
	<-done
}

func TestAfterRunsOnceTheAnswerIsReturned(t *testing.T) {
	done := 0
	start := handle(func(r *jsonrpc.Request) (any, error) { r.After(func() { done++ }); return nil, nil })
	h := jsonrpc.NewHTTP(jsonrpc.Methods{"start": start}, jsonrpc.Options{})
	h.Answer(t.Context(), []byte(`{"jsonrpc":"2.0","method":"start"}`))
	assert.Equal(t, 1, done)
}

package jsonrpc_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestCallersMayBeRefusedMethods(t *testing.T) {
	called := 0
	count := func(context.Context, *jsonrpc.Request) (any, error) {
		called++
		return "called", nil
	}
	h := jsonrpc.NewHTTP(jsonrpc.Methods{
		"open": {Handle: count}, "closed": {Handle: count}, "closed in order": {Handle: count, InOrder: true},
		"closed in two steps": {Begin: func(context.Context, *jsonrpc.Request) (func(context.Context) (any, error), error) {
			called++
			return nil, errors.New("begun")
		}},
	}, jsonrpc.Options{Admit: func(_ context.Context, method string) error {
		if method == "open" {
			return nil
		}
		return jsonrpc.InvalidParams("%s is not for you", method)
	}})
	ask := func(body string) string {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "POST", "/", strings.NewReader(body)))
		return w.Body.String()
	}
	for _, method := range []string{"closed", "closed in order", "closed in two steps"} {
		assert.Contains(t, ask(`{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`), method+" is not for you")
	}
	assert.Empty(t, ask(`{"jsonrpc":"2.0","method":"closed"}`), "a notification gets no answer")
	assert.Contains(t, ask(`{"jsonrpc":"2.0","id":1,"method":"unknown"}`), "-32601")
	assert.Zero(t, called)
	assert.Contains(t, ask(`{"jsonrpc":"2.0","id":1,"method":"open"}`), "called")
	assert.Equal(t, 1, called)
}

package jsonrpc_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func TestBothEndsCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			var ok bool
			err := r.Peer.Call(ctx, "confirm", r.Params, &ok)
			return ok, err
		}
		yes := handle(func(r *jsonrpc.Request) (any, error) { return strings.Contains(string(r.Params), "ls"), nil })
		ui, runtime := couple(t, jsonrpc.Methods{"confirm": yes}, jsonrpc.Methods{"ask": {Handle: ask}}, jsonrpc.Options{IDPrefix: "ui_"})
		var all sync.WaitGroup
		for _, command := range []string{"ls", "rm", "ls -l"} {
			all.Go(func() {
				for range 100 {
					var ok bool
					err := ui.Call(t.Context(), "ask", []string{command}, &ok)
					assert.Equal(t, command != "rm", ok, "%v", err)
				}
			})
		}
		all.Wait()
		var refused *jsonrpc.Error
		require.ErrorAs(t, runtime.Call(t.Context(), "ask", nil, nil), &refused)
		assert.Equal(t, jsonrpc.MethodNotFound("ask"), refused)
	})
}

func TestCallResults(t *testing.T) {
	type result struct {
		OK bool `json:"ok"`
	}
	tests := []struct{ name, answer, want string }{
		{"a result", `"result":{"ok":true}`, ""},
		{"a result and an error that is null", `"error":null,"result":{"ok":true}`, ""},
		{"an error", `"error":{"code":-32001,"message":"busy"}`, "busy (-32001)"},
		{"an error with data", `"error":{"code":-32001,"message":"busy","data":{"a":1}}`, "busy (-32001): map[a:1]"},
		{"an error and a result", `"result":{},"error":{"code":-32001,"message":"busy"}`, "busy (-32001)"},
		{"an error that is a string", `"error":"busy"`, `the peer sent an error of another form (-32603): "busy"`},
		{"an error that is null and nothing else", `"error":null`, `the peer sent an error of another form (-32603): null`},
		{"a result of another type", `"result":{"ok":"yes"}`, `jsonrpc: the result is not what was expected: "ok" must be a boolean, not a string`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := connect(t.Context(), t, nil, jsonrpc.Options{IDPrefix: "ui_"})
				brought := make(chan error, 1)
				var got result
				go func() { brought <- w.Call(t.Context(), "m", map[string]int{"a": 1}, &got) }()
				w.expect(`{"jsonrpc":"2.0","id":"ui_1","method":"m","params":{"a":1}}`)
				w.send(`{"jsonrpc":"2.0","id":"ui_2","result":{}}`, `{"id":"ui_1",`+tt.answer+`}`, `{"id":"ui_1",`+tt.answer+`}`)
				if err := <-brought; tt.want == "" {
					require.NoError(t, err)
					assert.Equal(t, result{true}, got)
				} else {
					require.EqualError(t, err, tt.want)
				}
				w.cut()
			})
		})
	}
}

func TestCallWithoutAnswerFails(t *testing.T) {
	tests := []struct {
		name string
		end  func(*wire)
		want error
	}{
		{"since its context ended", func(*wire) {}, context.DeadlineExceeded},
		{"since the peer is gone", func(w *wire) { assert.NoError(t, w.conn.Close()) }, jsonrpc.ErrGone},
		{"since the connection was closed", func(w *wire) { w.Close() }, jsonrpc.ErrClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := connect(t.Context(), t, nil, jsonrpc.Options{})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				brought := make(chan error, 1)
				go func() { brought <- w.Call(ctx, "m", nil, nil) }()
				w.expect(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
				synctest.Wait()
				tt.end(w)
				require.ErrorIs(t, <-brought, tt.want)
				if tt.want == context.DeadlineExceeded { //nolint:errorlint // the table has the error itself
					w.send(`{"jsonrpc":"2.0","id":1,"result":"late"}`)
					w.cut()
				}
				require.Error(t, w.Call(t.Context(), "m", nil, nil), "later calls fail, too")
			})
		})
	}
}

func TestResponseIsMatchedByItsBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, nil, jsonrpc.Options{})
		brought := make(chan error, 1)
		go func() { brought <- w.Call(t.Context(), "m", nil, nil) }()
		w.receive()
		w.send(`{"id":"1","result":1}`, `{"id":1.0,"result":1}`, `{"id":null,"error":{}}`, `{"result":1}`)
		synctest.Wait()
		assert.Empty(t, brought)
		w.send(`[{"id":1,"result":1}]`)
		require.NoError(t, <-brought)
		w.cut()
	})
}

func TestNotificationsCanNamePendingCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var chunks []string
		chunk := withReadLoop(handle(func(r *jsonrpc.Request) (any, error) {
			var c struct {
				RequestID json.RawMessage `json:"requestId"`
				Index     int             `json:"index"`
			}
			chunks = append(chunks, fmt.Sprintln(r.Decode(&c), c.Index, r.Peer.Owner(c.RequestID), r.Peer.Owner(json.RawMessage("99"))))
			return nil, nil
		}))
		generate := func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			for i := range 3 {
				if err := r.Peer.Notify(ctx, "stream/chunk", map[string]any{"requestId": r.ID, "index": i}); err != nil {
					return nil, err
				}
			}
			return "all", nil
		}
		app, _ := couple(t, jsonrpc.Methods{"stream/chunk": chunk}, jsonrpc.Methods{"generate": {Handle: generate}}, jsonrpc.Options{})
		var result string
		pending, err := app.Begin(t.Context(), "the owner", "generate", nil)
		require.NoError(t, err)
		require.NoError(t, pending.Await(t.Context(), &result))
		assert.Equal(t, "all", result)
		assert.Equal(t, []string{"<nil> 0 the owner <nil>\n", "<nil> 1 the owner <nil>\n", "<nil> 2 the owner <nil>\n"}, chunks)
	})
}

func TestInOrderMethodCannotCallItsPeer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			err := r.Peer.Call(ctx, "confirm", nil, nil)
			r.After(func() { assert.NoError(t, r.Peer.Call(ctx, "confirm", nil, nil)) })
			return err.Error(), nil
		}
		w := connect(t.Context(), t, jsonrpc.Methods{"ask": {Handle: ask, InOrder: true}}, jsonrpc.Options{})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
		text, err := json.Marshal(jsonrpc.ErrInOrder.Error())
		require.NoError(t, err)
		w.expect(`{"jsonrpc":"2.0","id":1,"result":` + string(text) + `}`)
		w.expect(`{"jsonrpc":"2.0","id":1,"method":"confirm"}`)
		w.send(`{"jsonrpc":"2.0","id":1,"result":true}`)
		w.cut()
	})
}

func TestUnencodableMessageIsNotSent(t *testing.T) {
	w := jsonrpc.New(jsonrpc.Frames{}, nil, jsonrpc.Options{})
	require.Error(t, w.Notify(t.Context(), "m", func() {}))
	require.Error(t, w.Call(t.Context(), "m", func() {}, nil))
}

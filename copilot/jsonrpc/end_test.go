package jsonrpc_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

func sleep(*jsonrpc.Request) (any, error) {
	time.Sleep(time.Hour)
	return "rested", nil
}

func TestReadMessagesAreAnsweredAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var in strings.Builder
		for i := range 300 {
			fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"sleep"}`+"\n", i)
		}
		in.WriteString(`{"jsonrpc":"2.0","id":"half","meth`) // the input ends in the middle of a message
		begin := time.Now()
		got := converse(t, jsonrpc.Methods{"sleep": handle(sleep)}, jsonrpc.Options{Concurrent: 100, Waiting: 200}, jsonrpc.LineOptions{}, strings.NewReader(in.String()))
		assert.Equal(t, 3*time.Hour, time.Since(begin))
		require.Len(t, got, 301)
		assert.Equal(t, []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"unexpected end of JSON input"}}`}, got[:1])
		for i := range 300 {
			assert.Contains(t, got, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"rested"}`, i))
		}
	})
}

func TestCallHasNoAnswerAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ask := func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			err := r.Peer.Call(ctx, "confirm", nil, nil)
			return []any{err.Error(), ctx.Err()}, nil // this response can still be sent
		}
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ask"}`)
		got := converse(t, jsonrpc.Methods{"ask": {Handle: ask}}, jsonrpc.Options{}, jsonrpc.LineOptions{}, in)
		assert.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":["jsonrpc: the peer is gone",null]}`}, got[len(got)-1:])
	})
}

func TestNotificationsAreSentAfterTheLastAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var peer *jsonrpc.Peer
		methods := jsonrpc.Methods{"sleep": {Handle: func(_ context.Context, r *jsonrpc.Request) (any, error) {
			peer = r.Peer
			return sleep(r)
		}}}
		last := func(ctx context.Context) {
			time.Sleep(time.Minute)
			assert.NoError(t, peer.Notify(ctx, "over", nil))
		}
		got := converse(t, methods, jsonrpc.Options{Last: last}, jsonrpc.LineOptions{}, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"sleep"}`))
		assert.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":"rested"}`, `{"jsonrpc":"2.0","method":"over"}`}, got)
	})
}

func TestAbandonedConnectionSkipsLastNotifications(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan struct{})
		w := connect(t.Context(), t, jsonrpc.Methods{}, jsonrpc.Options{Last: func(ctx context.Context) {
			close(begun)
			<-ctx.Done()
		}})
		w.Stop()
		<-begun
		require.Equal(t, errRuns, w.state())
		w.Close()
		require.ErrorIs(t, <-w.ended, jsonrpc.ErrClosed)
	})
}

func TestStopAnswersReadRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, jsonrpc.Methods{"sleep": handle(sleep), "exit": withReadLoop(handle(func(r *jsonrpc.Request) (any, error) {
			r.Peer.Stop()
			r.Peer.Stop()
			return nil, nil
		}))}, jsonrpc.Options{})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"sleep"}`, `{"jsonrpc":"2.0","method":"exit"}`)
		require.Equal(t, errRuns, w.state())
		w.send(`{"jsonrpc":"2.0","id":2,"method":"sleep"}`) // too late
		w.expect(`{"jsonrpc":"2.0","id":1,"result":"rested"}`)
		require.NoError(t, <-w.ended)
		assert.False(t, w.lines.Scan())
	})
}

func TestHandlerContextsEndWithTheConnection(t *testing.T) {
	tests := []struct {
		name string
		end  func(w *wire, cancel func())
		want error
	}{
		{"of the context", func(_ *wire, cancel func()) { cancel() }, context.Canceled},
		{"by closing", func(w *wire, _ func()) { w.Close(); w.Close() }, jsonrpc.ErrClosed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				heard := 0
				wait := func(ctx context.Context, _ *jsonrpc.Request) (any, error) {
					<-ctx.Done()
					heard++
					return nil, ctx.Err()
				}
				w := connect(ctx, t, jsonrpc.Methods{"wait": {Handle: wait}}, jsonrpc.Options{Concurrent: 1})
				w.send(`{"jsonrpc":"2.0","id":1,"method":"wait"}`, `{"jsonrpc":"2.0","id":2,"method":"wait"}`)
				require.Equal(t, errRuns, w.state())
				tt.end(w, cancel)
				require.ErrorIs(t, <-w.ended, tt.want)
				assert.Equal(t, 2, heard)
			})
		})
	}
}

func TestAfterFunctionsEndWithTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := false
		pump := func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			r.After(func() { <-ctx.Done(); ended = true })
			return nil, nil
		}
		in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"pump"}`)
		got := converse(t, jsonrpc.Methods{"pump": {Handle: pump}}, jsonrpc.Options{}, jsonrpc.LineOptions{}, in)
		assert.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":null}`}, got)
		assert.True(t, ended)
	})
}

package jsonrpc_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// flood sends notifications until its context ends.
func flood(ctx context.Context, p *jsonrpc.Peer) (sent int, err error) {
	for ; err == nil; sent++ {
		err = p.Notify(ctx, "event", []string{strings.Repeat("x", 1000)})
	}
	return sent - 1, err
}

func TestPeerThatDoesNotReadCanStillCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		run, cancel := context.WithCancel(t.Context())
		w := connect(t.Context(), t, jsonrpc.Methods{
			"flood":  handle(func(r *jsonrpc.Request) (any, error) { return flood(run, r.Peer) }),
			"cancel": withReadLoop(handle(func(*jsonrpc.Request) (any, error) { cancel(); return "cancelled", nil })),
		}, jsonrpc.Options{Queue: 100_000, Fault: func(err error) *jsonrpc.Error { return jsonrpc.Errorf(1, "flooded", "%v", err) }})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"flood"}`)
		synctest.Wait()
		w.send(`{"jsonrpc":"2.0","id":2,"method":"cancel"}`)
		synctest.Wait()
		require.Error(t, run.Err())

		events := 0
		line := w.receive()
		for ; strings.Contains(line, "event"); line = w.receive() {
			events++
		}
		assert.InDelta(t, 90, events, 10, "the capacity of the queue")
		assert.ElementsMatch(t, []string{
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"flooded","data":"context canceled"}}`,
			`{"jsonrpc":"2.0","id":2,"result":"cancelled"}`,
		}, []string{line, w.receive()})
		w.cut()
	})
}

func TestProducerContinuesWhenPeerReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, nil, jsonrpc.Options{Queue: 1000})
		sent := 0
		go func() {
			for ; sent < 50; sent++ {
				assert.NoError(t, w.Notify(t.Context(), "event", []int{sent}))
			}
		}()
		synctest.Wait()
		assert.Less(t, sent, 20)
		for i := range 50 {
			w.expect(fmt.Sprintf(`{"jsonrpc":"2.0","method":"event","params":[%d]}`, i))
		}
		w.cut()
	})
}

func TestReadingPausesWhileTooManyAnswersAreUnsent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, jsonrpc.Methods{"echo": withReadLoop(handle(echo))}, jsonrpc.Options{Unread: 10_000})
		said := 0
		go func() {
			for ; said < 1000; said++ {
				w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"echo"}`, said))
			}
		}()
		synctest.Wait()
		assert.InDelta(t, 100, said, 20)
		for i := range 1000 {
			w.expect(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":null}`, i))
		}
		w.cut()
	})
}

func TestStuckPeerIsDisconnected(t *testing.T) {
	tests := []struct {
		name    string
		end     func(w *wire, cancel func())
		options jsonrpc.Options
		after   time.Duration
		want    error
	}{
		{"by the context", func(_ *wire, cancel func()) { cancel() }, jsonrpc.Options{}, 0, context.Canceled},
		{"by closing", func(w *wire, _ func()) { w.Close() }, jsonrpc.Options{}, 0, jsonrpc.ErrClosed},
		{"by closing after stopping", func(w *wire, _ func()) { w.Stop(); synctest.Wait(); w.Close() }, jsonrpc.Options{}, 0, jsonrpc.ErrClosed},
		{"by the context after stopping", func(w *wire, cancel func()) { w.Stop(); synctest.Wait(); cancel() }, jsonrpc.Options{}, 0, context.Canceled},
		{"by the time", func(*wire, func()) {}, jsonrpc.Options{WriteTimeout: time.Minute}, time.Minute, jsonrpc.ErrStuck},
		{"by the time after stopping", func(w *wire, _ func()) { w.Stop() }, jsonrpc.Options{WriteTimeout: time.Minute}, time.Minute, jsonrpc.ErrStuck},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				tt.options.Queue, tt.options.Unread = 10_000, 5_000
				w := connect(ctx, t, jsonrpc.Methods{"flood": {Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) { return flood(ctx, r.Peer) }}}, tt.options)
				call := make(chan error, 1)
				go func() { call <- w.Call(t.Context(), "m", nil, nil) }()
				begin := time.Now()
				w.send(`{"jsonrpc":"2.0","id":1,"method":"flood"}`)
				require.Equal(t, errRuns, w.state())
				go func() { // reading waits, too, possibly before this message is read
					_, _ = io.WriteString(w.conn, `{"jsonrpc":"2.0","id":2,"method":"flood"}`+"\n")
				}()
				synctest.Wait()
				tt.end(w, cancel)
				require.ErrorIs(t, <-w.ended, tt.want)
				assert.Equal(t, tt.after, time.Since(begin))
				assert.Error(t, <-call)
			})
		})
	}
}

// uninterruptible is a stream whose Read and Close cannot be interrupted, like a terminal.
type uninterruptible struct{ until chan bool }

func (d uninterruptible) Read([]byte) (int, error) { <-d.until; return 0, io.EOF }
func (d uninterruptible) Close() error             { <-d.until; return nil }

func TestStuckHandlersAreLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		stream := uninterruptible{make(chan bool)}
		peer := jsonrpc.New(jsonrpc.NewLines(stream, &output{}, jsonrpc.LineOptions{}), nil, jsonrpc.Options{Grace: time.Minute})
		begin := time.Now()
		require.ErrorIs(t, peer.Run(ctx), context.Canceled)
		assert.Equal(t, time.Minute, time.Since(begin))
		close(stream.until)
	})
}

func TestFlushWaitsUntilEverythingIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, nil, jsonrpc.Options{})
		require.NoError(t, w.Flush(t.Context()), "the queue is empty")
		for i := range 3 {
			require.NoError(t, w.Notify(t.Context(), "event", []int{i}))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, w.Flush(ctx), context.DeadlineExceeded, "the other end does not read")
		flushed := make(chan error, 1)
		go func() { flushed <- w.Flush(t.Context()) }()
		for range 3 {
			w.receive()
		}
		require.NoError(t, <-flushed)
		w.cut()
	})
}

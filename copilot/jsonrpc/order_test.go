package jsonrpc_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// start answers with its parameters. Events follow the response.
func start(ctx context.Context, r *jsonrpc.Request) (any, error) {
	run := r.Params
	r.After(func() {
		for range 3 {
			_ = r.Peer.Notify(ctx, "event", run)
		}
	})
	return run, nil
}

func TestResponsePrecedesEventsOfItsRun(t *testing.T) {
	for _, first := range []bool{true, false} {
		t.Run(fmt.Sprintf("in order: %v", first), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const runs = 2000
				w := connect(t.Context(), t, jsonrpc.Methods{"start": {Handle: start, InOrder: first}}, jsonrpc.Options{Waiting: runs})
				go func() {
					for i := range runs {
						w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"start","params":[%d]}`, i, i))
					}
				}()
				events := make([]int, runs) // -1 before the response
				for i := range events {
					events[i] = -1
				}
				for range 4 * runs {
					line := w.receive()
					i := 0
					if _, err := fmt.Sscanf(line, `{"jsonrpc":"2.0","id":%d,"result":`, &i); err == nil {
						require.Equal(t, -1, events[i], line)
					} else {
						_, err = fmt.Sscanf(line, `{"jsonrpc":"2.0","method":"event","params":[%d]}`, &i)
						require.NoError(t, err, line)
						require.GreaterOrEqual(t, events[i], 0, "the response to %d is missing", i)
					}
					events[i]++
				}
				for i := range events {
					require.Equal(t, 3, events[i])
				}
				w.cut()
			})
		})
	}
}

func TestBatchResponsePrecedesEventsOfItsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, jsonrpc.Methods{"start": {Handle: start, InOrder: true}, "run": {Handle: start}}, jsonrpc.Options{})
		w.send(`[{"jsonrpc":"2.0","id":1,"method":"start","params":[1]},{"jsonrpc":"2.0","id":2,"method":"run","params":[2]},{"jsonrpc":"2.0","method":"start","params":[3]}]`)
		w.expect(`[{"jsonrpc":"2.0","id":1,"result":[1]},{"jsonrpc":"2.0","id":2,"result":[2]}]`)
		for _, run := range "111222333" {
			w.expect(fmt.Sprintf(`{"jsonrpc":"2.0","method":"event","params":[%c]}`, run))
		}
		w.cut()
	})
}

func TestHandlerNotificationsPrecedeItsResponse(t *testing.T) {
	history := func(ctx context.Context, r *jsonrpc.Request) (any, error) {
		for i := range 3 {
			if err := r.Peer.Notify(ctx, "event", []int{i}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"history"}`)
	got := converse(t, jsonrpc.Methods{"history": {Handle: history}}, jsonrpc.Options{}, jsonrpc.LineOptions{}, in)
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","method":"event","params":[0]}`,
		`{"jsonrpc":"2.0","method":"event","params":[1]}`,
		`{"jsonrpc":"2.0","method":"event","params":[2]}`,
		`{"jsonrpc":"2.0","id":1,"result":null}`,
	}, got)
}

func TestAfterDoesNotRunOnFailure(t *testing.T) {
	done := false
	refuse := func(r *jsonrpc.Request) (any, error) {
		r.After(func() { done = true })
		return nil, jsonrpc.InvalidParams("no")
	}
	in := strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"m"}` + "\n" + `{"jsonrpc":"2.0","method":"m"}`)
	converse(t, jsonrpc.Methods{"m": handle(refuse)}, jsonrpc.Options{}, jsonrpc.LineOptions{}, in)
	assert.False(t, done)
}

func TestPanicAfterResponseIsContained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := connect(t.Context(), t, jsonrpc.Methods{"m": handle(func(r *jsonrpc.Request) (any, error) {
			r.After(func() { panic("oh no") })
			r.After(func() { assert.NoError(t, r.Peer.Notify(t.Context(), "next", nil)) })
			return 1, nil
		})}, jsonrpc.Options{})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"m"}`)
		w.expect(`{"jsonrpc":"2.0","id":1,"result":1}`)
		w.expect(`{"jsonrpc":"2.0","method":"next"}`)
		w.cut()
	})
}

func TestInOrderMethodsRunInOrder(t *testing.T) {
	const n = 1000
	var got []string
	methods := jsonrpc.Methods{
		"next":  withReadLoop(handle(func(r *jsonrpc.Request) (any, error) { got = append(got, string(r.Params)); return nil, nil })),
		"other": handle(echo),
	}
	var in strings.Builder
	want := make([]string, n)
	for i := range n {
		want[i] = fmt.Sprintf("[%d]", i)
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","method":"next","params":%s}`+"\n"+`{"jsonrpc":"2.0","id":1,"method":"other"}`+"\n", want[i])
	}
	answers := converse(t, methods, jsonrpc.Options{Waiting: n}, jsonrpc.LineOptions{}, strings.NewReader(in.String()))
	assert.Equal(t, want, got)
	assert.Len(t, answers, n, "each request with the same id is answered")
}

func TestConcurrentAndWaitingRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var began []string
		goOn := make(chan bool)
		work := func(r *jsonrpc.Request) (any, error) {
			mu.Lock()
			began = append(began, string(r.Params))
			mu.Unlock()
			<-goOn
			return r.Params, nil
		}
		options := jsonrpc.Options{Concurrent: 2, Waiting: 3, Busy: &jsonrpc.Error{Code: -32004, Message: "Rate Limited"}}
		w := connect(t.Context(), t, jsonrpc.Methods{"work": handle(work), "ping": withReadLoop(handle(echo))}, options)
		for i := range 6 {
			w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"work","params":[%d]}`, i, i))
		}
		w.send(`{"jsonrpc":"2.0","method":"work","params":["lost"]}`, `{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		w.expect(`{"jsonrpc":"2.0","id":5,"error":{"code":-32004,"message":"Rate Limited"}}`)
		w.expect(`{"jsonrpc":"2.0","id":"p","result":null}`)
		synctest.Wait()
		assert.ElementsMatch(t, []string{"[0]", "[1]"}, began)
		for i := range 5 {
			goOn <- true
			synctest.Wait()
			if i < 3 {
				assert.Equal(t, fmt.Sprintf("[%d]", i+2), began[len(began)-1], "the longest waiting request is next")
			}
			w.receive()
		}
		w.cut()
	})
}

func TestZeroWaitingRefusesAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		goOn := make(chan bool)
		w := connect(t.Context(), t, jsonrpc.Methods{"work": handle(func(*jsonrpc.Request) (any, error) { return <-goOn, nil })}, jsonrpc.Options{Concurrent: 1, Waiting: -1})
		w.send(`{"jsonrpc":"2.0","id":1,"method":"work"}`, `{"jsonrpc":"2.0","id":2,"method":"work"}`)
		w.expect(`{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"Internal error","data":"too many requests are waiting; send fewer at a time"}}`)
		goOn <- true
		w.expect(`{"jsonrpc":"2.0","id":1,"result":true}`)
		w.cut()
	})
}

func TestBatchResponsesAreInRequestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gates := map[string]chan bool{"[1]": make(chan bool), "[2]": make(chan bool), "[3]": make(chan bool)}
		methods := jsonrpc.Methods{"work": handle(func(r *jsonrpc.Request) (any, error) { <-gates[string(r.Params)]; return r.Params, nil })}
		in := `[{"jsonrpc":"2.0","id":1,"method":"work","params":[1]},{"jsonrpc":"2.0","method":"work","params":[2]},{"jsonrpc":"2.0","id":3,"method":"work","params":[3]}]`
		go func() {
			for _, key := range []string{"[3]", "[2]", "[1]"} {
				synctest.Wait()
				close(gates[key])
			}
		}()
		want := `[{"jsonrpc":"2.0","id":1,"result":[1]},{"jsonrpc":"2.0","id":3,"result":[3]}]`
		assert.Equal(t, []string{want}, converse(t, methods, jsonrpc.Options{}, jsonrpc.LineOptions{}, io.Reader(strings.NewReader(in))))
	})
}

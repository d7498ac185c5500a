package jsonrpc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// BenchmarkCall measures round trips over net.Pipe.
func BenchmarkCall(b *testing.B) {
	for _, first := range []bool{true, false} {
		method := handle(echo)
		method.InOrder = first
		for _, callers := range []int{1, 16} {
			b.Run(fmt.Sprintf("inorder=%v/callers=%d", first, callers), func(b *testing.B) {
				left, _ := couple(b, nil, jsonrpc.Methods{"echo": method}, jsonrpc.Options{})
				b.ReportAllocs()
				calls := make(chan int)
				var all sync.WaitGroup
				for range callers {
					all.Go(func() {
						for i := range calls {
							var got []int
							if err := left.Call(b.Context(), "echo", []int{i}, &got); err != nil || got[0] != i {
								b.Error(err, got)
							}
						}
					})
				}
				for i := 0; b.Loop(); i++ {
					calls <- i
				}
				close(calls)
				all.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "calls/s")
			})
		}
	}
}

// BenchmarkNotify measures notifications from one peer to a handler of the other.
func BenchmarkNotify(b *testing.B) {
	type event struct {
		Run  string `json:"run_id"`
		Seq  int    `json:"seq"`
		Text string `json:"text"`
	}
	once, err := jsonrpc.NewNotification("agent.event", event{"run_1", 1, "some words of an answer"})
	if err != nil {
		b.Fatal(err)
	}
	for name, send := range map[string]func(context.Context, *jsonrpc.Peer, int) error{
		"encoded=each": func(ctx context.Context, p *jsonrpc.Peer, i int) error {
			return p.Notify(ctx, "agent.event", event{"run_1", i, "some words of an answer"})
		},
		"encoded=once": func(ctx context.Context, p *jsonrpc.Peer, _ int) error { return p.Send(ctx, once) },
	} {
		b.Run(name, func(b *testing.B) {
			count, want, all := 0, make(chan int, 1), make(chan bool)
			methods := jsonrpc.Methods{
				"agent.event": withReadLoop(handle(func(*jsonrpc.Request) (any, error) { count++; return nil, nil })),
				"end":         withReadLoop(handle(func(*jsonrpc.Request) (any, error) { all <- count == <-want; return nil, nil })),
			}
			left, _ := couple(b, nil, methods, jsonrpc.Options{})
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				if err := send(b.Context(), left, n); err != nil {
					b.Fatal(err)
				}
				n++
			}
			want <- n
			if err := left.Notify(b.Context(), "end", nil); err != nil || !<-all {
				b.Fatal("notifications are missing", err)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "events/s")
		})
	}
}

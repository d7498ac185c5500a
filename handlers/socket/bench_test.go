package socket_test

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/handlers/socket"
)

// bare opens a site of gorilla/websocket alone: what a connection costs at least. It has one goroutine.
func bare(b *testing.B, run func(*websocket.Conn)) *site {
	b.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		run(conn)
	}))
	b.Cleanup(server.Close)
	return &site{t: b, address: server.Listener.Addr().String()}
}

// BenchmarkIdleConnection tells what an idle connection takes of the heap and of the stacks.
func BenchmarkIdleConnection(b *testing.B) {
	b.Run("carrier", func(b *testing.B) { idle(b, open(b, socket.Options{}, deaf)) })
	b.Run("gorilla", func(b *testing.B) {
		idle(b, bare(b, func(c *websocket.Conn) { _, _, _ = c.ReadMessage() }))
	})
}

func idle(b *testing.B, s *site) {
	b.Helper()
	const connections = 1000
	for b.Loop() {
		before, goroutines := memory(), runtime.NumGoroutine()
		conns := make([]net.Conn, connections)
		for i := range conns {
			conns[i] = s.raw()
		}
		b.ReportMetric(float64(memory()-before)/connections, "B/conn")
		for _, c := range conns {
			require.NoError(b, c.Close())
		}
		require.Eventually(b, func() bool { return runtime.NumGoroutine() <= goroutines+1 }, patience, time.Millisecond)
	}
}

func memory() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// BenchmarkThousandConnections sends 10 KiB in 10 frames to each of a thousand clients, all of which receive them: what the
// portal would do in a second. So the part of a second that it takes is the part of the machine, clients included.
func BenchmarkThousandConnections(b *testing.B) {
	frame := number(0, 1<<10)
	b.Run("carrier", func(b *testing.B) {
		news := newGong()
		rounds(b, news, open(b, socket.Options{}, func(_ context.Context, conn *socket.Conn) {
			for round := 1; news.await(round); round++ {
				for range 10 {
					_ = conn.Send(frame)
				}
			}
		}), len(frame))
	})
	b.Run("gorilla", func(b *testing.B) {
		news := newGong()
		rounds(b, news, bare(b, func(conn *websocket.Conn) {
			for round := 1; news.await(round); round++ {
				for range 10 {
					_ = conn.WriteMessage(websocket.TextMessage, frame)
				}
			}
		}), len(frame))
	})
}

func rounds(b *testing.B, news *gong, s *site, size int) {
	b.Helper()
	const connections = 1000
	var round sync.WaitGroup
	for range connections {
		conn := s.raw()
		go func() {
			for {
				if _, err := io.CopyN(io.Discard, conn, int64(10*(size+4))); err != nil {
					return
				}
				round.Done()
			}
		}()
	}
	for b.Loop() {
		round.Add(connections)
		news.ring(false)
		round.Wait()
	}
	news.ring(true)
}

// gong has all begin a round at the same time. Nobody misses one.
type gong struct {
	sync.Mutex
	sync.Cond
	rounds int
	over   bool
}

func newGong() *gong {
	g := &gong{}
	g.L = &g.Mutex
	return g
}

// await waits for a round, of which the first is 1, and says whether there will be one.
func (g *gong) await(round int) bool {
	g.Lock()
	defer g.Unlock()
	for g.rounds < round && !g.over {
		g.Wait()
	}
	return !g.over
}

func (g *gong) ring(over bool) {
	g.Lock()
	defer g.Unlock()
	g.rounds++
	g.over = over
	g.Broadcast()
}

package ws_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
)

const (
	clients  = 1000 // clients
	sessions = 10   // session ids of the clients
	burst    = 250  // messages of a burst
)

// BenchmarkWatch measures delivery of one operation to a thousand clients, next to a plain loop around gorilla/websocket that
// writes the same bytes: all at once, and a hundred messages a second. Latency counts from the time when the agent or the
// loop had the message.
func BenchmarkWatch(b *testing.B) {
	for name, pace := range map[string]time.Duration{"burst": 0, "100 a second": 10 * time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var bare, portal []measure
				for range 2 { // alternate, since other programs use the machine, too
					bare = append(bare, measureBare(b, pace))
					portal = append(portal, measurePortal(b, pace))
				}
				report(b, "bare", median(bare))
				report(b, "portal", median(portal))
				b.ReportMetric(100*median(portal).rate/median(bare).rate, "%")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// measure is the result of one run.
type measure struct {
	rate     float64 // messages a second
	p50, p99 time.Duration
}

func median(all []measure) measure {
	sorted := slices.SortedFunc(slices.Values(all), func(x, y measure) int { return int(x.rate - y.rate) })
	return sorted[len(sorted)/2]
}

func report(b *testing.B, who string, m measure) {
	b.Helper()
	b.ReportMetric(m.rate, who+"-msg/s")
	b.ReportMetric(float64(m.p50.Microseconds())/1000, who+"-p50-ms")
	b.ReportMetric(float64(m.p99.Microseconds())/1000, who+"-p99-ms")
}

// length returns the number of messages of a run.
func length(pace time.Duration) int {
	if pace == 0 {
		return burst
	}
	return 150
}

func words(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat("word ", 30)) }

// receivers are the clients. They record when each message arrived.
type receivers struct {
	arrived [][]time.Time // by client and message
	ready   sync.WaitGroup
	all     sync.WaitGroup
}

// join adds a client that expects a greeting and the given number of messages.
func (a *receivers) join(conn net.Conn, messages int) {
	times := make([]time.Time, messages)
	a.arrived = append(a.arrived, times)
	a.ready.Add(1)
	a.all.Go(func() {
		f := frames{}
		buffer := make([]byte, 64<<10)
		for n := -1; n < messages; {
			size, err := conn.Read(buffer)
			if err != nil {
				return
			}
			now := time.Now()
			for range f.count(buffer[:size]) {
				switch {
				case n < 0:
					a.ready.Done()
				case n < messages:
					times[n] = now
				}
				n++
			}
		}
	})
}

// raw connects a client that has read only the answer to its handshake.
func raw(b *testing.B, address, path string) net.Conn {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	require.NoError(b, err)
	_, err = fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", path, address)
	require.NoError(b, err)
	var answer []byte
	for one := make([]byte, 1); !bytes.HasSuffix(answer, []byte("\r\n\r\n")); answer = append(answer, one[0]) {
		_, err = conn.Read(one)
		require.NoError(b, err)
	}
	require.Contains(b, string(answer), " 101 ")
	return conn
}

// frames counts the text frames that begin in the data read.
type frames struct {
	head []byte
	skip int
}

func (f *frames) count(data []byte) (n int) {
	for len(data) > 0 {
		if f.skip > 0 {
			skipped := min(f.skip, len(data))
			f.skip -= skipped
			data = data[skipped:]
			continue
		}
		f.head = append(f.head, data[0])
		data = data[1:]
		if size, ok := f.payload(); ok {
			if f.head[0]&0xf == websocket.TextMessage {
				n++
			}
			f.skip, f.head = size, f.head[:0]
		}
	}
	return n
}

func (f *frames) payload() (size int, ok bool) {
	switch {
	case len(f.head) < 2:
		return 0, false
	case f.head[1] < 126:
		return int(f.head[1]), true
	case f.head[1] == 126 && len(f.head) == 4:
		return int(binary.BigEndian.Uint16(f.head[2:])), true
	}
	return 0, false
}

// measure computes the result for messages that were ready at the given times.
func (a *receivers) measure(b *testing.B, sent []time.Time) measure {
	b.Helper()
	var late []time.Duration
	last := sent[0]
	for _, times := range a.arrived {
		for i, at := range times {
			require.False(b, at.IsZero(), "message %d reached every client", i)
			late = append(late, at.Sub(sent[i]))
			if at.After(last) {
				last = at
			}
		}
	}
	slices.Sort(late)
	return measure{
		rate: float64(len(late)) / last.Sub(sent[0]).Seconds(),
		p50:  late[len(late)/2], p99: late[len(late)*99/100],
	}
}

// measurePortal measures an operation.
func measurePortal(b *testing.B, pace time.Duration) measure {
	b.Helper()
	n := length(pace)
	begin, sent := make(chan struct{}), make([]time.Time, n)
	s := really(b, func(set *settings) {
		set.script = func(t *fake.Turn) {
			<-begin
			next := time.Now()
			for i := range n {
				sent[i] = time.Now()
				t.Say(words(i))
				if next = next.Add(pace); pace > 0 && !t.Wait(time.Until(next)) {
					return
				}
			}
			<-t.Aborted() // no further messages
		}
	})
	id := s.start()
	a := &receivers{}
	for i := range clients {
		if i%(clients/sessions) == 0 {
			s.session = ""
			s.session = s.visit()
		}
		conn := raw(b, s.address, s.path("operation_id", id))
		a.join(conn, n)
		defer conn.Close()
	}
	a.ready.Wait()
	close(begin)
	a.all.Wait()
	m := a.measure(b, sent)
	s.shut()
	return m
}

// measureBare measures a loop that writes what an operation would send.
func measureBare(b *testing.B, pace time.Duration) measure {
	b.Helper()
	n := length(pace)
	text := []byte(`{"id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11","operation_id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11","sequence":123,"type":"execution",` +
		`"content":"` + strings.TrimSpace(words(123)) + `","timestamp":"2026-01-01T00:00:00.000Z","sender":"copilot"}`)
	ready := make([]chan struct{}, n) // each is closed when its message is ready
	for i := range ready {
		ready[i] = make(chan struct{})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.WriteMessage(websocket.TextMessage, text)
		for _, message := range ready {
			<-message
			if conn.WriteMessage(websocket.TextMessage, text) != nil {
				return
			}
		}
		_, _, _ = conn.ReadMessage()
	}))
	defer server.Close()
	a := &receivers{}
	for range clients {
		conn := raw(b, server.Listener.Addr().String(), "/")
		a.join(conn, n)
		defer conn.Close()
	}
	a.ready.Wait()
	sent := make([]time.Time, n)
	next := time.Now()
	for i := range n {
		sent[i] = time.Now()
		close(ready[i])
		if next = next.Add(pace); pace > 0 {
			time.Sleep(time.Until(next))
		}
	}
	a.all.Wait()
	return a.measure(b, sent)
}

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
	crowd    = 1000 // clients
	sessions = 10   // session ids that they have
	speech   = 250  // messages of a burst
)

// BenchmarkWatch measures what a thousand clients get of one operation, and beside it what they get of a loop around
// gorilla/websocket alone that writes the same bytes: all at once, and a hundred messages a second. Lateness counts from
// when the agent said something, or the loop was given it.
func BenchmarkWatch(b *testing.B) {
	for name, pace := range map[string]time.Duration{"burst": 0, "100 a second": 10 * time.Millisecond} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var bare, own []measure
				for range 2 { // in turn, since others use the machine, too
					bare = append(bare, measureBare(b, pace))
					own = append(own, measureOwn(b, pace))
				}
				report(b, "bare", middle(bare))
				report(b, "portal", middle(own))
				b.ReportMetric(100*middle(own).rate/middle(bare).rate, "%")
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// measure is what came of a speech.
type measure struct {
	rate     float64 // messages a second
	p50, p99 time.Duration
}

func middle(all []measure) measure {
	sorted := slices.SortedFunc(slices.Values(all), func(x, y measure) int { return int(x.rate - y.rate) })
	return sorted[len(sorted)/2]
}

func report(b *testing.B, who string, m measure) {
	b.Helper()
	b.ReportMetric(m.rate, who+"-msg/s")
	b.ReportMetric(float64(m.p50.Microseconds())/1000, who+"-p50-ms")
	b.ReportMetric(float64(m.p99.Microseconds())/1000, who+"-p99-ms")
}

// length is how many messages a run has.
func length(pace time.Duration) int {
	if pace == 0 {
		return speech
	}
	return 150
}

func words(i int) string { return fmt.Sprintf("%d %s", i, strings.Repeat("word ", 30)) }

// audience is the clients, who note when which message came.
type audience struct {
	came  [][]time.Time // by client and message
	ready sync.WaitGroup
	all   sync.WaitGroup
}

// join adds a client that gets a greeting and so many messages.
func (a *audience) join(conn net.Conn, messages int) {
	times := make([]time.Time, messages)
	a.came = append(a.came, times)
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

// raw connects as a client that has read nothing but the answer to its handshake.
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

// frames counts the frames of text that begin in what is read.
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

// judge tells what came of messages that were there to be sent at these times.
func (a *audience) judge(b *testing.B, there []time.Time) measure {
	b.Helper()
	var late []time.Duration
	last := there[0]
	for _, times := range a.came {
		for i, at := range times {
			require.False(b, at.IsZero(), "message %d came to all", i)
			late = append(late, at.Sub(there[i]))
			if at.After(last) {
				last = at
			}
		}
	}
	slices.Sort(late)
	return measure{
		rate: float64(len(late)) / last.Sub(there[0]).Seconds(),
		p50:  late[len(late)/2], p99: late[len(late)*99/100],
	}
}

// measureOwn has an operation speak.
func measureOwn(b *testing.B, pace time.Duration) measure {
	b.Helper()
	n := length(pace)
	begin, there := make(chan struct{}), make([]time.Time, n)
	s := really(b, func(set *settings) {
		set.script = func(t *fake.Turn) {
			<-begin
			next := time.Now()
			for i := range n {
				there[i] = time.Now()
				t.Say(words(i))
				if next = next.Add(pace); pace > 0 && !t.Wait(time.Until(next)) {
					return
				}
			}
			<-t.Aborted() // or there would be more messages
		}
	})
	id := s.start()
	a := &audience{}
	for i := range crowd {
		if i%(crowd/sessions) == 0 {
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
	m := a.judge(b, there)
	s.shut()
	return m
}

// measureBare has a loop write what an operation would say.
func measureBare(b *testing.B, pace time.Duration) measure {
	b.Helper()
	n := length(pace)
	text := []byte(`{"id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11","operation_id":"6b3f0c3a-8f0b-4d7b-9f0e-4d9c7a5e1c11","sequence":123,"type":"execution",` +
		`"content":"` + strings.TrimSpace(words(123)) + `","timestamp":"2026-01-01T00:00:00.000Z","sender":"copilot"}`)
	bells := make([]chan struct{}, n) // each is closed when a message is there
	for i := range bells {
		bells[i] = make(chan struct{})
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer conn.Close()
		_ = conn.WriteMessage(websocket.TextMessage, text)
		for _, bell := range bells {
			<-bell
			if conn.WriteMessage(websocket.TextMessage, text) != nil {
				return
			}
		}
		_, _, _ = conn.ReadMessage()
	}))
	defer server.Close()
	a := &audience{}
	for range crowd {
		conn := raw(b, server.Listener.Addr().String(), "/")
		a.join(conn, n)
		defer conn.Close()
	}
	a.ready.Wait()
	there := make([]time.Time, n)
	next := time.Now()
	for i := range n {
		there[i] = time.Now()
		close(bells[i])
		if next = next.Add(pace); pace > 0 {
			time.Sleep(time.Until(next))
		}
	}
	a.all.Wait()
	return a.judge(b, there)
}

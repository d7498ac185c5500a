package bench_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// bareLoop is the path of a fan that costs little more than its system calls.
type bareLoop string

const (
	bareSocket bareLoop = "/fan/socket" // gorilla/websocket, one frame per message
	bareEvents bareLoop = "/fan/events" // net/http, one flush per message
)

// overhead is what a message of so many bytes on the wire has besides its text.
func (l bareLoop) overhead() float64 {
	if l == bareSocket {
		return 4 // the head of a frame
	}
	return 14 // data: and the blank line, in a chunk of HTTP
}

// bareEnd is the last message of a bare loop.
const bareEnd = "the end of the stream"

// ofBare starts a bare loop for one round, whose messages are as long as those of the other.
func (k carrier) ofBare(b *testing.B, like round, do func(subject) round) (r round) {
	b.Helper()
	run(b, bareCommand(b), func(p program) {
		r = do(subject{p.pid, func(c *crowd, l load) (connect, release func()) {
			c.end = []byte(bareEnd)
			size := like.burst.messageBytes()
			if l.perSecond > 0 {
				size = like.steady.messageBytes()
			}
			url := p.url + string(k.bare)
			connect = func() { c.joinSocket(url) }
			if k.bare == bareEvents {
				connect = func() { c.joinEvents(url) }
			}
			return connect, func() {
				call(b, "POST", fmt.Sprintf("%s/send?n=%d&rate=%d&size=%.0f", url, l.chunks, l.perSecond, size-k.bare.overhead()), "")
			}
		}})
	})
	return r
}

// fan sends the same messages to all its readers. Each has one goroutine and one channel.
type fan struct {
	mu      sync.Mutex
	readers map[chan []byte]bool
	before  string // each message
	after   string
}

// serveFans registers the bare loops.
func serveFans() {
	sockets := &fan{readers: map[chan []byte]bool{}}
	http.HandleFunc(string(bareSocket), sockets.socket)
	http.HandleFunc(string(bareSocket)+"/send", sockets.send)
	events := &fan{readers: map[chan []byte]bool{}, before: "data: ", after: "\n\n"}
	http.HandleFunc(string(bareEvents), events.events)
	http.HandleFunc(string(bareEvents)+"/send", events.send)
}

// join adds a reader. leave removes it, while somebody may be sending to it.
func (f *fan) join() (messages chan []byte, leave func()) {
	messages = make(chan []byte, 256)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers[messages] = true
	return messages, func() {
		go func() {
			for range messages {
			}
		}()
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.readers, messages)
		close(messages)
	}
}

func (f *fan) socket(w http.ResponseWriter, r *http.Request) {
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	messages, leave := f.join()
	defer leave()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_, _, _ = conn.ReadMessage() // until the reader leaves
	}()
	_ = conn.WriteMessage(websocket.TextMessage, []byte("connected"))
	for {
		select {
		case m := <-messages:
			if conn.WriteMessage(websocket.TextMessage, m) != nil {
				return
			}
		case <-gone:
			return
		}
	}
}

func (f *fan) events(w http.ResponseWriter, r *http.Request) {
	messages, leave := f.join()
	defer leave()
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	for err := control.Flush(); err == nil; err = control.Flush() {
		select {
		case m := <-messages:
			_, _ = w.Write(m)
		case <-r.Context().Done():
			return
		}
	}
}

// send starts a stream: "?n=" messages of "?size=" bytes, "?rate=" a second.
func (f *fan) send(_ http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.FormValue("n"))
	rate, _ := strconv.Atoi(r.FormValue("rate"))
	size, _ := strconv.Atoi(r.FormValue("size"))
	padding := strings.Repeat(".", max(0, size-stampDigits-1))
	go func() {
		var tick <-chan time.Time
		if rate > 0 {
			tick = time.Tick(time.Second / time.Duration(rate))
		}
		for range n {
			if tick != nil {
				<-tick
			}
			f.broadcast("@" + strconv.FormatInt(time.Now().UnixNano(), 10) + padding)
		}
		f.broadcast(bareEnd)
	}()
}

func (f *fan) broadcast(text string) {
	message := []byte(f.before + text + f.after)
	f.mu.Lock()
	defer f.mu.Unlock()
	for r := range f.readers {
		r <- message
	}
}

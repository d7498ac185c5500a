package bench_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/require"
)

// crowd is the readers of one stream. Each has one goroutine.
type crowd struct {
	b         *testing.B
	end       []byte // is in the last message only
	readers   []*reader
	messages  atomic.Int64
	bytes     atomic.Int64
	transport *http.Transport
	zipped    bool            // its requests accept gzip
	context   context.Context //nolint:containedctx // of all its requests
	cancel    context.CancelFunc
}

func newCrowd(b *testing.B) *crowd {
	b.Helper()
	c := &crowd{b: b}
	c.context, c.cancel = context.WithCancel(b.Context())
	c.transport = &http.Transport{DialContext: c.dial, DisableCompression: true, MaxIdleConnsPerHost: 2000}
	return c
}

// dial opens a connection whose bytes are counted.
func (c *crowd) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	return countedConn{conn, &c.bytes}, err
}

type countedConn struct {
	net.Conn
	read *atomic.Int64
}

// Read implements [net.Conn].
func (c countedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.read.Add(int64(n))
	return n, err
}

// wait returns when every reader has the last message, or has lost its connection.
func (c *crowd) wait() {
	c.b.Helper()
	limit := time.After(3 * time.Minute)
	for i, r := range c.readers {
		select {
		case <-r.done:
		case <-limit:
			c.b.Fatalf("reader %d of %d has not received the last message", i, len(c.readers))
		}
	}
}

// delays are those of all chunks at all readers, each of which must have received all of them.
func (c *crowd) delays(chunks int) (all []time.Duration) {
	c.b.Helper()
	for _, r := range c.readers {
		if len(r.delays) != chunks {
			c.b.Fatalf("a reader received %d chunks of %d", len(r.delays), chunks)
		}
		all = append(all, r.delays...)
	}
	return all
}

// leave closes all connections.
func (c *crowd) leave() {
	c.cancel()
	for _, r := range c.readers {
		r.close()
	}
	c.transport.CloseIdleConnections()
}

// reader is one client. It does not decode what it receives.
type reader struct {
	crowd  *crowd
	latest int64 // the newest stamp
	delays []time.Duration
	done   chan struct{} // closed after the last message, or when the connection ends
	end    func()        // closes done
	close  func()
}

func (c *crowd) join(leave func()) *reader {
	r := &reader{crowd: c, done: make(chan struct{}), close: leave}
	r.end = sync.OnceFunc(func() { close(r.done) })
	c.readers = append(c.readers, r)
	return r
}

// take counts a piece of the stream that has so many messages.
func (r *reader) take(text []byte, messages int) {
	r.note(text, time.Now())
	r.crowd.messages.Add(int64(messages))
	if bytes.Contains(text, r.crowd.end) {
		r.end()
	}
}

// stampDigits is the length of a stamp, without the sign before it.
const stampDigits = 19

// note keeps the delays of the chunks in a text. Texts that repeat chunks have older stamps.
func (r *reader) note(text []byte, at time.Time) {
	for {
		i := bytes.IndexByte(text, '@')
		if i < 0 || len(text) <= i+stampDigits {
			return
		}
		stamp, err := strconv.ParseInt(string(text[i+1:i+1+stampDigits]), 10, 64)
		text = text[i+1:]
		if err == nil && stamp > r.latest {
			r.latest = stamp
			r.delays = append(r.delays, time.Duration(at.UnixNano()-stamp))
		}
	}
}

// joinSocket follows a WebSocket, whose first message tells that the reader is there.
func (c *crowd) joinSocket(url string, requests ...string) {
	c.b.Helper()
	dialer := websocket.Dialer{NetDialContext: c.dial}
	conn, response, err := dialer.DialContext(c.context, "ws"+strings.TrimPrefix(url, "http"), nil)
	require.NoError(c.b, err)
	response.Body.Close()
	r := c.join(func() { conn.Close() })
	for _, request := range requests {
		require.NoError(c.b, conn.WriteMessage(websocket.TextMessage, []byte(request)))
	}
	var message bytes.Buffer
	receive := func() error {
		_, frame, err := conn.NextReader()
		if err != nil {
			return err
		}
		message.Reset()
		if _, err = message.ReadFrom(frame); err == nil {
			r.take(message.Bytes(), 1)
		}
		return err
	}
	require.NoError(c.b, receive())
	go r.repeat(receive)
}

// joinEvents follows a stream of server-sent events.
func (c *crowd) joinEvents(url string) {
	c.b.Helper()
	response, err := c.get(url)
	require.NoError(c.b, err)
	plain, err := plainBody(response)
	require.NoError(c.b, err)
	r := c.join(func() { response.Body.Close() })
	go func() {
		defer r.end()
		lines := bufio.NewScanner(plain)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			if bytes.HasPrefix(lines.Bytes(), []byte("data:")) {
				r.take(lines.Bytes(), 1)
			}
		}
	}()
}

// joinPoll follows a session with one request after another.
func (c *crowd) joinPoll(url string) {
	c.b.Helper()
	r := c.join(func() {})
	poll := func() error {
		response, err := c.get(url)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		plain, err := plainBody(response)
		if err != nil {
			return err
		}
		body, err := io.ReadAll(plain)
		if err == nil {
			r.take(body, bytes.Count(body, []byte(`"callback":`)))
		}
		return err
	}
	require.NoError(c.b, poll())
	go r.repeat(poll)
}

// repeat receives until the last message or an error.
func (r *reader) repeat(receive func() error) {
	defer r.end()
	for err := error(nil); err == nil; err = receive() {
		select {
		case <-r.done:
			return
		default:
		}
	}
}

func (c *crowd) get(url string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(c.context, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	if c.zipped {
		request.Header.Set("Accept-Encoding", "gzip")
	}
	return c.transport.RoundTrip(request)
}

// plainBody returns the body of a response without its compression.
func plainBody(r *http.Response) (io.Reader, error) {
	if r.Header.Get("Content-Encoding") == "gzip" {
		return gzip.NewReader(r.Body)
	}
	return r.Body, nil
}

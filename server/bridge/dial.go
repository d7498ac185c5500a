package bridge

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// dialTimeout is how long connecting may take, all in all.
	dialTimeout = 10 * time.Second
	// silence is how long a portal may send nothing, not even a ping, before it is
	// given up. It sends one every 20 s.
	silence = time.Minute
	// buffer makes few parts of a long line.
	buffer = 64 << 10
)

// dial connects. What keeps it from that is told in words.
func dial(ctx context.Context, to target, o Options) (*websocket.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var w *timeoutConn
	d := websocket.Dialer{
		Proxy:          http.ProxyFromEnvironment,
		ReadBufferSize: buffer, WriteBufferSize: buffer,
		NetDialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			w = &timeoutConn{Conn: conn, patient: context.AfterFunc(ctx, func() { _ = conn.Close() })} // the dialer heeds only its deadline
			return w, nil
		},
	}
	conn, resp, err := d.DialContext(ctx, to.withDirectory(o.Directory), withToken(cmp.Or(o.Token, to.token, o.DefaultToken)))
	if err != nil {
		return nil, explain(ctx, to, resp, err)
	}
	_ = resp.Body.Close() // has nothing
	if !w.patient() {
		return nil, ctx.Err()
	}
	w.silence = silence
	return conn, nil
}

func withToken(token string) http.Header {
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	return header
}

// timeoutConn is a network connection that gives up a portal which is silent for too
// long. A part of a message is a sign of life, too.
type timeoutConn struct {
	net.Conn

	patient func() bool   // called once connected: nothing closes it from outside any more
	silence time.Duration // 0 while connecting, when there is a limit for all of it
}

func (w *timeoutConn) Read(p []byte) (int, error) {
	if w.silence > 0 {
		_ = w.SetReadDeadline(time.Now().Add(w.silence)) // fails as reading does
	}
	return w.Conn.Read(p)
}

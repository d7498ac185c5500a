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
	// dialTimeout is the time limit for connecting.
	dialTimeout = 10 * time.Second
	// silence is how long a portal may send nothing, not even a ping, before the bridge gives up. It sends a
	// ping every 20 s.
	silence = time.Minute
	// buffer is large so that long lines consist of few reads.
	buffer = 64 << 10
)

// dial connects. Its errors are meant for users.
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
			w = &timeoutConn{Conn: conn, patient: context.AfterFunc(ctx, func() { _ = conn.Close() })} // the dialer itself only respects its deadline
			return w, nil
		},
	}
	conn, resp, err := d.DialContext(ctx, to.withDirectory(o.Directory), withToken(cmp.Or(o.Token, to.token, o.DefaultToken)))
	if err != nil {
		return nil, explain(ctx, to, resp, err)
	}
	_ = resp.Body.Close() // it has no content
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

// timeoutConn is a network connection that fails if the portal sends nothing for too long. Part of a message
// counts, too.
type timeoutConn struct {
	net.Conn

	patient func() bool   // called once connected; then nothing else closes the connection
	silence time.Duration // 0 while connecting, which has its own limit
}

func (w *timeoutConn) Read(p []byte) (int, error) {
	if w.silence > 0 {
		_ = w.SetReadDeadline(time.Now().Add(w.silence)) // if this fails, reading fails as well
	}
	return w.Conn.Read(p)
}

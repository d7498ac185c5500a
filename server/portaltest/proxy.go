package portaltest

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// BehindProxy starts a reverse proxy that passes requests below base unchanged, including Host, as nginx or
// Caddy do. Other paths belong to another site. It returns the address of the proxy.
func (p *Portal) BehindProxy(base string) string {
	p.t.Helper()
	target, err := url.Parse(p.URL)
	if err != nil {
		p.t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.SetXForwarded()
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != base && !strings.HasPrefix(r.URL.Path, base+"/") {
			http.Error(w, "this is another site", http.StatusTeapot)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	p.t.Cleanup(s.Close)
	return s.URL
}

// Proxy forwards connections to a portal and can interrupt them.
type Proxy struct {
	URL string

	tb     testing.TB
	target string
	mu     sync.Mutex
	open   map[net.Conn]struct{}
	down   bool
}

// Proxy starts a proxy to the portal, for browsers.
func (p *Portal) Proxy() *Proxy {
	p.t.Helper()
	listener, err := net.Listen("tcp", "localhost:0") //nolint:noctx // ends with the test
	if err != nil {
		p.t.Fatal(err)
	}
	w := &Proxy{tb: p.t, target: "localhost:" + p.Port, open: map[net.Conn]struct{}{}}
	w.URL = "http://" + listener.Addr().String()
	p.t.Cleanup(func() {
		_ = listener.Close()
		w.Down()
	})
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go w.carry(conn)
		}
	}()
	return w
}

// carry copies data in both directions until either side or the test ends the connection.
func (w *Proxy) carry(near net.Conn) {
	far, err := net.Dial("tcp", w.target) //nolint:noctx // ends with the test
	if err != nil {
		_ = near.Close()
		return
	}
	if !w.hold(near, far) {
		return
	}
	go func() {
		_, _ = io.Copy(far, near)
		w.end(near, far)
	}()
	_, _ = io.Copy(near, far)
	w.end(near, far)
}

// hold registers connections, or closes them if the proxy is down.
func (w *Proxy) hold(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		if w.down {
			_ = c.Close()
		} else {
			w.open[c] = struct{}{}
		}
	}
	return !w.down
}

func (w *Proxy) end(conns ...net.Conn) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range conns {
		_ = c.Close()
		delete(w.open, c)
	}
}

// Cut closes all connections and returns their number. New ones are accepted.
func (w *Proxy) Cut() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(w.open) / 2
	for c := range w.open {
		_ = c.Close()
	}
	clear(w.open)
	return n
}

// Down closes all connections and refuses new ones until Up.
func (w *Proxy) Down() {
	w.mu.Lock()
	w.down = true
	w.mu.Unlock()
	w.Cut()
}

// Up accepts connections again.
func (w *Proxy) Up() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down = false
}

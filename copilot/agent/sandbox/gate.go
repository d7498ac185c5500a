package sandbox

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpproxy"
	"golang.org/x/net/netutil"
)

// Network says what a sandbox can reach.
type Network string

// The networks of sandboxes.
const (
	Shared Network = "shared" // everything the host can reach, including its loopback
	Model  Network = "model"  // only the hosts of models, through a [Gate]
)

// ParseNetwork parses the name of a network.
func ParseNetwork(name string) (Network, error) {
	if n := Network(name); n == Shared || n == Model {
		return n, nil
	}
	return "", fmt.Errorf("%q is not %s or %s", name, Shared, Model)
}

// Gate is the only way out of a sandbox without network: an HTTP proxy on a Unix socket that allows
// connections to certain hosts. It serves one sandbox. The caller must close it.
type Gate struct {
	directory string // of the sockets
	hosts     []string
	upstream  func(*url.URL) (*url.URL, error)
	forward   http.Handler
	log       *slog.Logger
	server    *http.Server
	agent     net.Listener // the relay connects here to carry the connection to the agent

	ctx    context.Context //nolint:containedctx // of the connections, which outlive calls
	cancel context.CancelFunc
	mu     sync.Mutex // protects cancelling against concurrent additions to work
	work   sync.WaitGroup
}

// GateDirectory is the prefix of socket directories in the directory for temporary files; the portal's
// process id and a dash follow.
const GateDirectory = "portal-net-"

const (
	proxySocket = "proxy"
	agentSocket = "agent"
)

// Limits of a gate, so that a sandbox cannot exhaust the portal.
const (
	gateConnections = 200
	gateHeader      = 10 * time.Second // for a complete request
	gateDial        = 15 * time.Second
)

// OpenGate opens a gate to hosts, in the form of [ParseHost]. env may name the proxy of the host itself
// (HTTPS_PROXY and the like).
func OpenGate(hosts, env []string, log *slog.Logger) (*Gate, error) {
	directory, err := os.MkdirTemp("", fmt.Sprintf("%s%d-", GateDirectory, os.Getpid()))
	if err != nil {
		return nil, err
	}
	g := &Gate{directory: directory, hosts: hosts, upstream: proxyOf(env), log: log}
	g.ctx, g.cancel = context.WithCancel(context.Background())
	g.forward = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		Transport:     &http.Transport{Proxy: func(r *http.Request) (*url.URL, error) { return g.upstream(r.URL) }, DisableKeepAlives: true},
		FlushInterval: -1,
		ErrorLog:      slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	var listen net.ListenConfig
	proxy, err := listen.Listen(g.ctx, "unix", g.socket(proxySocket))
	if err == nil {
		if g.agent, err = listen.Listen(g.ctx, "unix", g.socket(agentSocket)); err != nil {
			_ = proxy.Close() // the error is that of listening
		}
	}
	if err != nil {
		g.cancel()
		return nil, errors.Join(err, os.RemoveAll(directory))
	}
	g.server = &http.Server{
		Handler: http.HandlerFunc(g.serve), ReadHeaderTimeout: gateHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
		BaseContext: func(net.Listener) context.Context { return g.ctx }, // forwarded requests end with the gate
	}
	g.work.Go(func() { _ = g.server.Serve(netutil.LimitListener(proxy, gateConnections)) }) // until Close
	return g, nil
}

// proxyOf returns the function that selects the proxy of an environment for an address.
func proxyOf(env []string) func(*url.URL) (*url.URL, error) {
	get := func(name string) (value string) {
		for _, v := range env {
			if key, after, _ := strings.Cut(v, "="); strings.EqualFold(key, name) && after != "" {
				value = after
			}
		}
		return value
	}
	c := httpproxy.Config{HTTPProxy: get("HTTP_PROXY"), HTTPSProxy: get("HTTPS_PROXY"), NoProxy: get("NO_PROXY")}
	return c.ProxyFunc()
}

func (g *Gate) socket(name string) string { return filepath.Join(g.directory, name) }

// Close ends all connections and waits for them. It may be called repeatedly.
func (g *Gate) Close() {
	g.mu.Lock()
	g.cancel()
	g.mu.Unlock()
	_ = g.server.Close() // listeners and connections
	_ = g.agent.Close()
	g.work.Wait()
	_ = os.RemoveAll(g.directory) // the next portal removes what remains
}

// allows reports whether connections to an address, host:port, are allowed.
func (g *Gate) allows(address string) bool {
	host, port, err := net.SplitHostPort(strings.ToLower(address))
	if err != nil {
		return false
	}
	if address, err = ParseHost(net.JoinHostPort(strings.TrimSuffix(host, "."), port)); err != nil {
		return false
	}
	return slices.ContainsFunc(g.hosts, func(rule string) bool {
		domain, below := strings.CutPrefix(rule, "*")
		return rule == address || below && strings.HasSuffix(address, domain) && len(address) > len(domain)
	})
}

// begin adds a request to work, unless the gate is closed.
func (g *Gate) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		return false
	}
	g.work.Add(1)
	return true
}

// serve handles a CONNECT or proxy request, or refuses it.
func (g *Gate) serve(w http.ResponseWriter, r *http.Request) {
	if !g.begin() {
		return
	}
	defer g.work.Done()
	address := r.Host
	if r.Method != http.MethodConnect {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			http.Error(w, "This is a proxy: use CONNECT, or absolute http addresses.", http.StatusBadRequest)
			return
		}
		if address = r.URL.Host; r.URL.Port() == "" {
			address = net.JoinHostPort(r.URL.Hostname(), "80")
		}
	}
	if !g.allows(address) {
		g.log.Debug("the sandbox refused a connection", "address", address)
		http.Error(w, "The sandbox of the Copilot Portal does not allow connections to "+address+": the agent can only reach its models. To allow more hosts, add them to sandbox_hosts.", http.StatusForbidden)
		return
	}
	if r.Method != http.MethodConnect {
		g.forward.ServeHTTP(w, r)
		return
	}
	g.tunnel(w, address)
}

// tunnel connects a client with the requested address.
func (g *Gate) tunnel(w http.ResponseWriter, address string) {
	ctx, cancel := context.WithTimeout(g.ctx, gateDial)
	server, err := g.dial(ctx, address)
	cancel()
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	client, rest, err := http.NewResponseController(w).Hijack()
	if err != nil {
		_ = server.Close()
		return
	}
	_ = client.SetDeadline(time.Time{})
	_, _ = io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n") // copying detects errors
	join(g.ctx, buffered{client, rest.Reader}, server)
}

// dial connects to an address, through the host's own proxy if there is one.
func (g *Gate) dial(ctx context.Context, address string) (net.Conn, error) {
	var d net.Dialer
	via, err := g.upstream(&url.URL{Scheme: "https", Host: address})
	if err != nil {
		return nil, err
	}
	if via == nil {
		return d.DialContext(ctx, "tcp", address)
	}
	if via.Scheme != "http" {
		return nil, fmt.Errorf("the proxy %s does not use http, which a sandbox with sandbox_network: model requires", via.Redacted())
	}
	conn, err := d.DialContext(ctx, "tcp", net.JoinHostPort(via.Hostname(), cmp.Or(via.Port(), "80")))
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	defer stop()
	return connectThrough(conn, address, via.User)
}

// connectThrough asks the proxy at the other end of a connection to connect to an address. It closes the
// connection on failure.
func connectThrough(conn net.Conn, address string, user *url.Userinfo) (net.Conn, error) {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Host: address}, Host: address, Header: http.Header{}}
	if user != nil {
		password, _ := user.Password()
		r.SetBasicAuth(user.Username(), password)
		r.Header = http.Header{"Proxy-Authorization": r.Header["Authorization"]}
	}
	err := r.Write(conn)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, r) //nolint:bodyclose // the body is the connection
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy refused a connection to %s: %s", address, answer.Status)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return buffered{conn, reader}, nil
}

// Connect returns an address on the host's loopback that leads to a port on the loopback of the sandbox. It
// serves one connection, for a client that knows the token of the agent.
func (g *Gate) Connect(ctx context.Context, port string) (address string, err error) {
	stop := context.AfterFunc(ctx, func() { _ = g.agent.Close() })
	defer stop()
	relay, err := g.agent.Accept()
	if err != nil {
		return "", fmt.Errorf("the relay in the sandbox did not connect: %w", err)
	}
	_ = g.agent.Close() // the sandbox can make no other connection
	if _, err = io.WriteString(relay, port+"\n"); err != nil {
		return "", errors.Join(err, relay.Close())
	}
	var listen net.ListenConfig
	outer, err := listen.Listen(g.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", errors.Join(err, relay.Close())
	}
	g.work.Go(func() {
		stop := context.AfterFunc(g.ctx, func() { _ = outer.Close() })
		client, err := outer.Accept()
		stop()
		_ = outer.Close()
		if err != nil {
			_ = relay.Close()
			return
		}
		join(g.ctx, client, relay)
	})
	return outer.Addr().String(), nil
}

// buffered is a connection whose reader has read ahead.
type buffered struct {
	net.Conn
	reader *bufio.Reader
}

// Read first returns what was read ahead.
func (b buffered) Read(p []byte) (int, error) { return b.reader.Read(p) }

// join copies between two connections until one of them or ctx ends, and then closes both.
func join(ctx context.Context, a, b io.ReadWriteCloser) {
	end := sync.OnceFunc(func() {
		_ = a.Close()
		_ = b.Close()
	})
	stop := context.AfterFunc(ctx, end)
	defer stop()
	var copying sync.WaitGroup
	for _, pair := range [][2]io.ReadWriteCloser{{a, b}, {b, a}} {
		copying.Go(func() {
			defer end()
			_, _ = io.Copy(pair[0], pair[1])
		})
	}
	copying.Wait()
}

package server

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/share"
)

// Flush runs a dialect, and returns when it has ended or the portal no longer waits for it at its stop.
func Flush(ctx context.Context, out io.Writer, serve func(context.Context, io.Writer) error) error {
	t := startSession(ctx, io.NopCloser(strings.NewReader("")), out, func(ctx context.Context, _ watchedInput, out io.WriteCloser) error {
		return serve(ctx, out)
	})
	return t.flushBriefly(ctx)
}

// Background starts work beside the requests; see [backgroundWork].
func Background(ctx context.Context, work func(context.Context)) (stop, wait func()) {
	w := background(ctx, work)
	return w.stop, w.wait
}

// Handler returns the portal's handler for a port, without listening.
func (s *Server) Handler(port int) http.Handler {
	s.guard = newGuard(s.config, port, &s.guesses, s.shares)
	return s.routes()
}

// RoutesOf returns the route table of a [Server.Handler].
func RoutesOf(h http.Handler) gin.RoutesInfo {
	e, _ := h.(linked)
	return e.Routes()
}

// Recovered wraps a handler with the portal's logging and recovery.
func (s *Server) Recovered(h gin.HandlerFunc) http.Handler {
	gin.SetMode(gin.ReleaseMode)
	r := gin.New()
	r.Use(s.logged, s.recovered)
	r.GET("/", h)
	return r
}

// Listen opens host:port.
func Listen(ctx context.Context, host string, port int) ([]net.Listener, error) {
	return listen(ctx, host, port)
}

// IsInUse is for the tests of package server_test.
var IsInUse = isInUse

// Stopping returns a channel that is closed when a client requests a stop.
func (s *Server) Stopping() <-chan struct{} { return s.stop }

// ClientLimits are the time limits of connections.
type ClientLimits struct{ Header, Idle, Stall, Body, Discard, Write, Linger, Patience time.Duration }

// ClientLimits returns the limits of connections.
func (s *Server) ClientLimits() ClientLimits {
	l := s.limits
	return ClientLimits{l.header, l.idle, l.stall, l.body, l.discard, l.write, l.linger, l.patience}
}

// SetClientLimits changes the limits of connections.
func (s *Server) SetClientLimits(l ClientLimits) {
	s.limits.header, s.limits.idle, s.limits.stall, s.limits.body = l.Header, l.Idle, l.Stall, l.Body
	s.limits.discard, s.limits.write, s.limits.linger, s.limits.patience = l.Discard, l.Write, l.Linger, l.Patience
}

// StartSession opens a session that has no agent yet, and returns its id.
func (s *Server) StartSession(ctx context.Context) (string, error) {
	session, err := s.host.Start(ctx, copilot.Start{Directory: workDir(), WithoutAgent: true})
	if err != nil {
		return "", err
	}
	return session.ID(), nil
}

// SetLimits changes the limits of unauthenticated connections: those of one address that are older than
// patience, all of one address, and all.
func (s *Server) SetLimits(patience time.Duration, pending, burst, total int) {
	s.limits.patience, s.limits.pending, s.limits.burst, s.limits.total = patience, pending, burst, total
}

// ServeOn serves the connections of a listener.
func (s *Server) ServeOn(ctx context.Context, l net.Listener) error {
	s.listeners = listeners{l}
	s.guard = newGuard(s.config, 8888, &s.guesses, s.shares)
	return s.Serve(ctx)
}

// HasBothLengths reports whether the data of a connection contains a head that starts with a line and gives the
// length of its body in both ways.
func HasBothLengths(parts [][]byte, first string) bool {
	var h head
	for _, part := range parts {
		h.add(part)
	}
	return hasBothLengths(h.recent, first)
}

// Recheck is how often the files of a certificate are looked at, at most.
const Recheck = recheck

// CertificateOf returns the function that returns the certificate for a connection.
func CertificateOf(files TLS) func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	return (&certificate{files: files, log: slog.New(slog.DiscardHandler)}).get
}

// OwnTransport returns the transport of a portal's requests to itself.
func (t TLS) OwnTransport() *http.Transport { return t.ownTransport() }

// StopListening closes the port of a portal that does not serve.
func (s *Server) StopListening() { s.listeners.close() }

// IsLongPoll reports whether a path is that of a long poll.
func IsLongPoll(path string) bool { return isLongPoll(path) }

// Linked lists what the holders of links may call, with the rights that it needs: routes, and methods of /ui and /rpc.
func Linked() (routes, ui, rpc map[string]share.Rights) {
	return linkedRoutes(), linkedUI(), linkedRPC()
}

// Methods returns the names of all methods of /ui and of /rpc.
func (s *Server) Methods() (ui, rpc []string) { return s.ui.Methods(), s.rpc.SocketMethods() }

// Admit returns what a method answers to the holder of a link, before it is called: "" or why it is refused.
func (s *Server) Admit(ctx context.Context, token string, methods map[string]share.Rights, method string) string {
	limited, _, done, err := s.shares.Use(ctx, token)
	if err != nil {
		return err.Error()
	}
	defer done()
	if err := admitLinked(methods)(limited, method); err != nil {
		return err.Error()
	}
	return ""
}

// Share creates a link and returns its token.
func (s *Server) Share(ctx context.Context, o share.Order) (share.Share, string, error) {
	return s.shares.Create(ctx, o)
}

// Revoke revokes a link.
func (s *Server) Revoke(ctx context.Context, x share.Share) error {
	return s.shares.Revoke(ctx, x.Session, x.ID)
}

// ReleaseProgram releases the pages of the program from this process.
func ReleaseProgram() error { return releaseProgram() }

// Hidden returns what the sandbox hides besides the usual places of secrets.
func (c *Config) Hidden() []string { return c.newSandbox().Hidden }

// CountConnections returns what a server calls for each connection.
func CountConnections() (opened, closed func()) {
	c := newConnectionCount()
	return c.opened, c.closed
}

// Package ws lets clients start operations and watch them over WebSockets
// (spec/contracts/websocket.md with its notes; spec/operations.md).
//
// Each connection has one goroutine, which reads the record of its operation and writes what it finds (follow.go). Replay and
// live messages take the same path, nothing is queued per client, and a slow client delays only itself. A message is encoded
// once, when it is recorded, and all connections share those bytes.
package ws

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/jobs/operation"
)

// Subprotocol is for clients that cannot read why an upgrade failed, such as browsers. A client that offers it gets
// close codes instead.
const Subprotocol = "portal.v1"

// Options configure the [API]. Zero fields take the defaults named.
type Options struct {
	Operations  *operation.Host
	Store       *store.Store             // keeps session ids over a restart; nil: they end with the API
	Token       func() string            // the portal's token; "": none is required
	Authorized  func(*http.Request) bool // reports whether a request carries the token
	Admit       func(*http.Request)      // called for each request with a valid session id or the token; may be nil
	Guesses     *TokenGuesses            // counts wrong tokens; nil: a counter of this API
	User        func() string            // the user that session ids stand for; nil: none
	BasePath    string                   // path below which the portal is served, may be ""
	Sockets     *socket.Server           // carries /ws, configured by [Carrier]; the caller closes it, after the API
	Connections int                      // limit for each session id; default 100
	Log         *slog.Logger             // nil: none
}

// API serves the dialect. Its methods may be called concurrently.
type API struct {
	options     Options
	visitors    *visitors
	connections *connectionRegistry
}

// New returns an API.
func New(o Options) *API {
	o.Connections = cmp.Or(o.Connections, 100)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Guesses == nil {
		o.Guesses = &TokenGuesses{}
	}
	if o.Admit == nil {
		o.Admit = func(*http.Request) {}
	}
	if o.User == nil {
		o.User = func() string { return "" }
	}
	return &API{options: o, visitors: newVisitors(o.Store), connections: newConnectionRegistry(o.Connections)}
}

// Carrier returns the WebSocket options of this dialect, whose clients send nothing that matters.
func Carrier(compress bool, log *slog.Logger) socket.Options {
	return socket.Options{
		MaxMessage: maxFrame, Silence: silence, WriteTimeout: writeTimeout, SendBuffer: sendBuffer,
		IgnoresInput: true, Subprotocols: []string{Subprotocol}, Compress: compress, Refusal: refusal, AnyOrigin: true, Log: log,
	}
}

// closeTimeout is how long Close waits for clients to receive the end of their operations. Some never do: they do not
// read, or watch an operation of another process. Closing the carrier disconnects those.
const closeTimeout = 500 * time.Millisecond

// Close accepts no more connections and waits a short time, or until ctx ends, for the clients to receive the end of their
// operations. The operations must be closed before.
func (a *API) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	a.connections.close(ctx)
}

// Connections returns the number of connections.
func (a *API) Connections() int { return a.connections.count() }

// prefix is the second path below which all routes are served.
const prefix = "/api/v1"

func prefixes() []string { return []string{"", prefix} }

// route is one line of the table.
type route struct {
	method, path string
	handler      gin.HandlerFunc
}

func (a *API) table() []route {
	return []route{
		{http.MethodPost, "/auth/verify", a.verify},
		{http.MethodGet, "/auth/verify", a.whoAmI},
		{http.MethodPost, "/auth/logout", a.logout},
		{http.MethodPost, "/operations", a.visitor(scopeWrite, a.start)},
		{http.MethodPost, "/features/:id/clarify", a.visitor(scopeWrite, a.startFor(operation.Clarify))},
		{http.MethodPost, "/features/:id/analyze", a.visitor(scopeWrite, a.startFor(operation.Analyze))},
		{http.MethodPost, "/features/:id/plan", a.visitor(scopeWrite, a.startFor(operation.Plan))},
		{http.MethodGet, "/operations", a.visitor(scopeRead, a.list)},
		{http.MethodGet, "/operations/:id", a.visitor(scopeRead, a.get)},
		{http.MethodGet, "/operations/:id/messages", a.visitor(scopeRead, a.messages)},
		{http.MethodPost, "/operations/:id/cancel", a.visitor(scopeWrite, a.cancel)},
		{http.MethodPost, "/operations/:id/answer/:request", a.visitor(scopeWrite, a.answer)},
		{http.MethodGet, "/ws", a.connect},
	}
}

// Routes adds the routes below both prefixes. The routes check access themselves, because a session id replaces the
// portal's token.
func (a *API) Routes(r gin.IRoutes) {
	for _, prefix := range prefixes() {
		for _, one := range a.table() {
			r.Handle(one.method, prefix+one.path, one.handler)
		}
	}
}

// Owns reports whether a path, relative to the base path, belongs to this dialect, whether or not it has a route.
func Owns(path string) bool {
	if path, ok := strings.CutPrefix(path, prefix); ok && (path == "" || path[0] == '/') {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"auth", "operations", "features", "ws"}, first)
}

// Paths returns the patterns of the routes.
func (a *API) Paths() (all []string) {
	for _, prefix := range prefixes() {
		for _, one := range a.table() {
			all = append(all, prefix+one.path)
		}
	}
	return all
}

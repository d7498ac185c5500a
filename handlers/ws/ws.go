// Package ws lets clients start operations and watch them over WebSockets
// (spec/contracts/websocket.md with its notes; spec/operations.md).
//
// A connection is one goroutine that reads the record of its operation through [operation.Operation.Next] and writes what it
// finds (follow.go): replay and live are one path, nothing is queued for anybody, and a client that is slow holds up itself. A
// message was encoded when it was recorded, and all connections share those bytes.
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

// Subprotocol is for clients that cannot read why an upgrade was refused, such as browsers: who offers it is told by
// close codes.
const Subprotocol = "portal.v1"

// Options of the [API]. Zero fields take the defaults named.
type Options struct {
	Operations  *operation.Host
	Store       *store.Store             // keeps session ids over a restart; nil: they live as long as the API
	Token       func() string            // that of the portal; "": none is needed
	Authorized  func(*http.Request) bool // whether a request brings the token along
	Admit       func(*http.Request)      // hears of each request that brings a good session id or the token; nil: nobody does
	Guesses     *TokenGuesses            // counts wrong tokens; nil: those of this API alone
	User        func() string            // whom session ids stand for; nil: nobody is named
	BasePath    string                   // below which the portal is served, "" for none
	Sockets     *socket.Server           // carries /ws, as [Carrier] says. Who made it closes it, after the API
	Connections int                      // that a session id may have at a time; 100
	Log         *slog.Logger             // nil: none
}

// API is the dialect. Its methods may be called concurrently.
type API struct {
	options  Options
	visitors *visitors
	present  *connectionRegistry
}

// New makes the API.
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
	return &API{options: o, visitors: newVisitors(o.Store), present: newConnectionRegistry(o.Connections)}
}

// Carrier is how the WebSockets of this dialect behave: clients have nothing to say.
func Carrier(compress bool, log *slog.Logger) socket.Options {
	most := int64(maxQuoted)
	if compress {
		most = maxQuotedSmall
	}
	return socket.Options{
		MaxMessage: most, Silence: silence, WriteTimeout: writeTimeout, SendBuffer: sendBuffer,
		Deaf: true, Subprotocols: []string{Subprotocol}, Compress: compress, Refusal: refusal, AnyOrigin: true, Log: log,
	}
}

// endTime is how long clients get at the end of the portal to take the end of their operation. Some never do: they do not
// read, or watch what another process does. They are left to who closes the carrier.
const endTime = 500 * time.Millisecond

// Close lets no connections come any more, has each end as soon as its client has the end of its operation, and waits for
// that a little, or for ctx. The operations are to be closed before.
func (a *API) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	a.present.close(ctx)
}

// Connections is how many there are.
func (a *API) Connections() int { return a.present.count() }

// prefix is below which all paths are there, too.
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

// Routes adds the routes below each of the two prefixes. They look themselves after who may use them: a session id stands in
// for the token of the portal.
func (a *API) Routes(r gin.IRoutes) {
	for _, prefix := range prefixes() {
		for _, one := range a.table() {
			r.Handle(one.method, prefix+one.path, one.handler)
		}
	}
}

// Owns says whether a path, below the base path, is one of this dialect, even if there is nothing.
func Owns(path string) bool {
	if path, ok := strings.CutPrefix(path, prefix); ok && (path == "" || path[0] == '/') {
		return true
	}
	first, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	return slices.Contains([]string{"auth", "operations", "features", "ws"}, first)
}

// Paths are the patterns of the routes.
func (a *API) Paths() (all []string) {
	for _, prefix := range prefixes() {
		for _, one := range a.table() {
			all = append(all, prefix+one.path)
		}
	}
	return all
}

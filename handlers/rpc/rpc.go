// Package rpc speaks the contract of the IDE's sidecar
// (spec/contracts/json-rpc-http.md with its notes; spec/rpc.md): JSON-RPC over HTTP, the
// stream of a session as server-sent events, and callbacks with which the IDE's
// plugin executes tools.
//
// A method decodes, calls the domain once and encodes. Events reach the wire
// through one encoder (encoder.go). A stream is the goroutine of its
// request, which reads the record; the client keeps its position. One goroutine
// for each session with a callback address carries its questions to the plugin
// (callback.go).
package rpc

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/handlers/edit"
	"github.com/copilot-portal/portal/handlers/extension"
	"github.com/copilot-portal/portal/handlers/socket"
	"github.com/copilot-portal/portal/handlers/wire"
)

// Origin names this dialect in sessions and answers.
const Origin = "rpc"

// MaxMessage is the largest request that is read, in bytes.
const MaxMessage = 32 << 20

// Options of the [API]. Zero fields take the defaults named.
type Options struct {
	Host     *copilot.Host
	Shares   *share.Shares // links to sessions
	WorkDir  string        // of sessions that name none
	BasePath string        // before the paths of streams; "" or as in "/portal"
	Idle     time.Duration // closes sessions that are unused for so long; 0: never

	Callback string            // address of the plugin for sessions that name none; "": none
	Remote   bool              // callbacks may go to other machines
	Limit    time.Duration     // of the answer to a callback; 10 minutes
	Carrier  http.RoundTripper // carries callbacks; nil: without proxies, and only to this machine unless Remote
	More     jsonrpc.Methods   // further methods, with errors of their own
	// Admit decides about callers; see [jsonrpc.Options].
	Admit   func(ctx context.Context, method string) error
	Sockets *socket.Server // carries /rpc as a WebSocket; nil: only HTTP. The caller must close it
	Log     *slog.Logger   // nil: none
}

func (o Options) withDefaults() Options {
	if o.Limit <= 0 {
		o.Limit = 10 * time.Minute
	}
	if o.Carrier == nil {
		o.Carrier = carrier(o.Remote)
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// API is the dialect. It is safe for concurrent use. The caller must close it.
type API struct {
	options       Options
	http          *jsonrpc.HTTP
	uses          sessionUses
	delivered     deliveredRuns
	events        wire.Caches[journal.Position, []byte]
	shared        wire.Deflater // has the newest of them
	notifications wire.Caches[journal.Position, jsonrpc.Notification]
	methods       jsonrpc.Methods
	socketMethods jsonrpc.Table[*connection]
	stopping      context.Context //nolint:containedctx // ends when the portal stops, and with it the contexts of all streams
	stop          context.CancelFunc
	work          sync.WaitGroup

	closing sync.Mutex // held while work starts, so that none starts after Close
}

// New returns an API.
func New(o Options) *API {
	a := &API{
		options: o.withDefaults(),
		uses:    sessionUses{byID: map[string]*sessionUse{}}, delivered: deliveredRuns{bySession: map[string]uint64{}},
	}
	a.stopping, a.stop = context.WithCancel(context.Background())
	a.methods, a.socketMethods = a.Methods(), socketMethods()
	a.http = jsonrpc.NewHTTP(a.methods, jsonrpc.Options{Admit: a.options.Admit, Fault: rpcError, Log: a.options.Log, Body: MaxMessage})
	a.begin(a.closeIdle)
	return a
}

// Methods returns those of spec/contracts/json-rpc-http.md, "Methods", and the portal's own. Any
// carrier of JSON-RPC may offer them.
func (a *API) Methods() jsonrpc.Methods {
	edits := edit.API{Session: a.sessionOf, By: Origin}
	m := jsonrpc.Methods{
		"session.create":      {Handle: a.create},
		"session.close":       {Handle: jsonrpc.Typed(a.closeSession)},
		"session.send":        {Handle: a.send},
		"session.list":        {Handle: jsonrpc.Typed(a.list)},
		"session.cancel":      {Handle: jsonrpc.Typed(a.cancel)},
		"session.update":      {Handle: jsonrpc.Typed(a.update)},
		"session.permissions": {Handle: jsonrpc.Typed(a.permissions)},
		"session.revoke":      {Handle: jsonrpc.Typed(a.revoke)},
		"queue.list":          {Handle: jsonrpc.Typed(a.listQueue)},
		"queue.edit":          {Handle: jsonrpc.Typed(a.editQueued)},
		"queue.move":          {Handle: jsonrpc.Typed(a.moveQueued)},
		"queue.send":          {Handle: jsonrpc.Typed(a.sendQueued)},
		"session.fork":        {Handle: jsonrpc.Typed(a.fork)},
		"session.resend":      {Handle: jsonrpc.Typed(a.resend)},
		"session.changes":     {Handle: jsonrpc.Typed(a.changes)},
		"session.diff":        {Handle: jsonrpc.Typed(a.diff)},
		"session.revert":      {Handle: jsonrpc.Typed(a.revert)},
		"session.restore":     {Handle: jsonrpc.Typed(a.restore)},
		"session.undo":        {Handle: edits.Undo},
		"file.read":           {Handle: jsonrpc.Typed(a.readFile)},
		"commit.propose":      {Handle: jsonrpc.Typed(a.proposeCommit)},
		"commit.create":       {Handle: edits.CreateCommit},
		"pullRequest.propose": {Handle: edits.ProposePull},
		"pullRequest.create":  {Handle: edits.CreatePull},
		"question.answer":     {Handle: jsonrpc.Typed(a.answer)},
		"share.create":        {Handle: jsonrpc.Typed(a.createShare)},
		"share.list":          {Handle: jsonrpc.Typed(a.listShares)},
		"share.revoke":        {Handle: jsonrpc.Typed(a.revokeShare)},
		"share.current":       {Handle: a.currentShare},
		"models.list":         {Handle: a.models},
	}
	maps.Copy(m, extension.API{Host: a.options.Host, Directory: a.options.WorkDir}.Methods(""))
	maps.Copy(m, a.options.More)
	return m
}

// Routes adds /rpc and /stream/{sessionId} (spec/contracts/json-rpc-http.md) below r.
func (a *API) Routes(r gin.IRoutes) {
	r.POST("/rpc", a.call)
	if a.options.Sockets != nil {
		r.GET("/rpc", a.connect)
	}
	r.GET("/stream/:id", a.stream)
}

// Streams returns the routes, below those of [API.Routes], whose responses are long-lived: their
// durations say nothing about the portal.
func Streams() []string { return []string{"/stream/:id"} }

// call answers a request over HTTP. The server limits the time for reading it.
func (a *API) call(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	a.http.ServeHTTP(c.Writer, c.Request)
}

// Close ends callbacks, and streams once those of open sessions have ended by themselves. Call it
// when the host starts to close; it returns when all callbacks have ended.
func (a *API) Close() {
	a.closing.Lock()
	a.stop()
	a.closing.Unlock()
	a.work.Wait()
}

// begin runs do, which ends when the portal stops, unless that has begun.
func (a *API) begin(does func(ctx context.Context)) bool {
	a.closing.Lock()
	defer a.closing.Unlock()
	if a.stopping.Err() != nil {
		return false
	}
	a.work.Go(func() {
		ctx, cancel := a.withShutdown(context.Background(), 0)
		defer cancel()
		does(ctx)
	})
	return true
}

// withShutdown returns a context that ends with ctx, or some time after the portal starts to stop.
func (a *API) withShutdown(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	forget := context.AfterFunc(a.stopping, func() { time.AfterFunc(more, cancel) })
	return ctx, func() { forget(); cancel() }
}

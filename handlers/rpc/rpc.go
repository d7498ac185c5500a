// Package rpc speaks the contract of the IDE's sidecar
// (spec/contracts/json-rpc-http.md with its notes; spec/rpc.md): JSON-RPC over HTTP, the
// stream of a session as server-sent events, and call-backs that let the IDE's
// plugin carry out tools.
//
// A method decodes, calls the domain once and encodes. Events reach the wire
// through one dictionary (dictionary.go). A stream is the goroutine of its
// request, which reads the record; the client holds its position. What a session
// waits for is carried to the plugin by one goroutine for each session that has
// a call-back address (callback.go).
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
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
)

// Origin names this dialect in sessions and answers.
const Origin = "rpc"

// MaxMessage is the largest request that is read, in bytes.
const MaxMessage = 32 << 20

// Options of the [API]. Zero fields take the defaults named.
type Options struct {
	Host     *copilot.Host
	WorkDir  string        // of sessions that name none
	BasePath string        // before the paths of streams; "" or as in "/portal"
	Idle     time.Duration // until a session that nobody uses is closed; 0: never

	Callback string            // address of the plugin for sessions that name none; "": none
	Remote   bool              // call-backs may go to other machines
	Limit    time.Duration     // for the answer to a call-back; 10 minutes
	Carrier  http.RoundTripper // carries call-backs; nil: one that knows no proxy, and this machine alone unless Remote
	More     jsonrpc.Methods   // what else can be called; their errors are their own
	Sockets  *socket.Server    // carries /rpc as a WebSocket; nil: it is HTTP alone. Who made it closes it
	Log      *slog.Logger      // nil: none
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

// API is the dialect. Its handlers may be called concurrently. Close ends it.
type API struct {
	options  Options
	http     *jsonrpc.HTTP
	uses     sessionUses
	heard    deliveredRuns
	stopping chan struct{} // closed when the portal stops
	work     sync.WaitGroup

	closing sync.Mutex // held while work is begun, so that Close is a border
}

// New makes the API.
func New(o Options) *API {
	a := &API{
		options: o.withDefaults(), stopping: make(chan struct{}),
		uses: sessionUses{byID: map[string]*sessionUse{}}, heard: deliveredRuns{bySession: map[string]uint64{}},
	}
	a.http = jsonrpc.NewHTTP(a.Methods(), jsonrpc.Options{Fault: rpcError, Log: a.options.Log, Body: MaxMessage})
	a.begin(a.closeIdle)
	return a
}

// Methods are those of spec/contracts/json-rpc-http.md, "Methods", and ours. Any carrier of JSON-RPC may offer them.
func (a *API) Methods() jsonrpc.Methods {
	m := jsonrpc.Methods{
		"session.create":      {Handle: a.create},
		"session.close":       {Handle: a.closeSession},
		"session.send":        {Handle: a.send},
		"session.list":        {Handle: a.list},
		"session.cancel":      {Handle: a.cancel},
		"session.permissions": {Handle: a.permissions},
		"session.revoke":      {Handle: a.revoke},
		"question.answer":     {Handle: a.answer},
		"models.list":         {Handle: a.models},
	}
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

// Streams are the routes, below those of [API.Routes], whose answers last: how
// long they take says nothing about the portal.
func Streams() []string { return []string{"/stream/:id"} }

// call answers a request over HTTP. The server limits how long reading it takes.
func (a *API) call(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	a.http.ServeHTTP(c.Writer, c.Request)
}

// Close ends call-backs and, after those of open sessions have ended by
// themselves, streams. Call it when the host begins to close; it returns when
// all call-backs have ended.
func (a *API) Close() {
	a.closing.Lock()
	if !a.isStopping() {
		close(a.stopping)
	}
	a.closing.Unlock()
	a.work.Wait()
}

func (a *API) isStopping() bool {
	select {
	case <-a.stopping:
		return true
	default:
		return false
	}
}

// begin does something that ends when the portal stops, unless it does already.
func (a *API) begin(does func(ctx context.Context)) bool {
	a.closing.Lock()
	defer a.closing.Unlock()
	if a.isStopping() {
		return false
	}
	a.work.Go(func() {
		ctx, cancel := a.withShutdown(context.Background(), 0)
		defer cancel()
		does(ctx)
	})
	return true
}

// withShutdown is a context that ends with another one, or so long after the portal
// began to stop.
func (a *API) withShutdown(ctx context.Context, more time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		select {
		case <-ctx.Done():
			return
		case <-a.stopping:
		}
		select {
		case <-ctx.Done():
		case <-time.After(more):
		}
	}()
	return ctx, cancel
}

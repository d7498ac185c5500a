// Package ui speaks the protocol of terminal and desktop UIs
// (spec/contracts/ui-protocol.md with its notes; spec/ui.md): JSON-RPC in both
// directions, one JSON object a line on standard streams or a frame on a
// WebSocket. The carriers differ in nothing else.
//
// A method decodes, calls the domain once and encodes. Events reach the wire
// through one dictionary (run_encoder.go), which makes the same messages of a
// record for every UI; each says for whom it is. Of each session that a UI is
// attached to, one goroutine reads the record (follow.go). Questions become
// requests to the UI, each on a goroutine that waits for the answer (question_relay.go).
package ui

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/socket"
)

// Origin names this dialect in sessions and answers.
const Origin = "ui"

// MaxMessage is the largest message that is read, in bytes
// (spec/contracts/ui-protocol.notes.md, "Rules that real UIs rely on").
const MaxMessage = 64 << 20

// writeTimeout is for a UI that does not read at all.
const writeTimeout = time.Minute

// Options of the [API]. Zero fields take the defaults named.
type Options struct {
	Host     *copilot.Host
	WorkDir  string              // of sessions whose client names no directory
	Headless permission.Decision // decides in place of a UI that cannot ask; deny
	Version  string              // of the portal
	Sockets  *socket.Server      // carries /ui; nil: [API.Routes] is not used. Who made it closes it
	Extra    ExtraMethods        // of every connection; nil: none
	Log      *slog.Logger        // nil: none
}

// API is the dialect. Its methods may be called concurrently. It holds nothing
// that would have to be closed.
type API struct {
	options Options

	mu          sync.Mutex
	toolOwners  map[string]*connection // by session: the UI that declared the client's tools last
	connections map[*connection]bool
}

// New makes the API.
func New(o Options) *API {
	o.Headless = cmp.Or(o.Headless, permission.Deny)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &API{options: o, toolOwners: map[string]*connection{}, connections: map[*connection]bool{}}
}

// Routes adds GET /ui, a WebSocket.
func (a *API) Routes(r gin.IRoutes) { r.GET("/ui", a.connect) }

func (a *API) connect(c *gin.Context) {
	directory := c.Query("cwd")
	a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		if err := a.Serve(ctx, conn.Frames(ctx), Client{Directory: directory}); err != nil && ctx.Err() == nil {
			a.options.Log.Debug("a UI has gone", "err", err)
		}
	})
}

// Client is what is known of a UI before it says anything.
type Client struct {
	Directory string            // in which it works, absolute; "": that of the portal
	Grace     time.Duration     // for a read that cannot be interrupted, in the end; 1 s
	Policy    permission.Policy // of the sessions that it begins, under what it says of each
	// End ends the sessions of a portal that serves this UI alone. It is called when the UI says no more and has been
	// answered; how its runs end is told behind it. nil: they go on without the UI.
	End func()
}

// Serve speaks with one UI until its input ends, ctx ends, or the carrier fails,
// and closes the carrier. It returns nil after a good end: everything that was
// asked has been answered.
func (a *API) Serve(ctx context.Context, carrier jsonrpc.Carrier, o Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := newConnection(a, o)
	options := jsonrpc.Options{
		Fault: RPCError, Log: a.options.Log, IDPrefix: "ui_" + rand.Text()[:6] + "_", Grace: o.Grace, WriteTimeout: writeTimeout,
		Concurrent: concurrent, Waiting: maxWaiting, Busy: jsonrpc.Errorf(codeBusy, "Busy", "too many requests wait for their answers; send fewer at a time"),
	}
	if o.End != nil {
		options.Last = func(ctx context.Context) {
			o.End()
			n.sendRunEnds(ctx)
		}
	}
	methods, waitExtra := n.allMethods()
	n.peer = jsonrpc.New(carrier, methods, options)
	a.addConnection(n)
	err := n.peer.Run(ctx)
	cancel()
	a.removeConnection(n)
	n.end()
	waitExtra()
	return err
}

// concurrent is how many requests are worked on at a time: more than a UI has whose
// lists hang on an agent that does not answer, or they would keep it from cancelling.
const concurrent = 512

// maxWaiting is how many more requests may wait for their turn.
const maxWaiting = 4096

// setToolOwner notes who carries out the tools of a session from now on: the last that
// declared some.
func (a *API) setToolOwner(session string, n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.toolOwners[session] = n
}

func (a *API) ownsTools(session string, n *connection) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.toolOwners[session] == n
}

// removeToolOwner forgets what a connection offered in a session, or "" in all.
func (a *API) removeToolOwner(of string, n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for session, by := range a.toolOwners {
		if by == n && (of == "" || of == session) {
			delete(a.toolOwners, session)
		}
	}
}

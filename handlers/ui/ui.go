// Package ui speaks the protocol of terminal and desktop UIs
// (spec/contracts/ui-protocol.md with its notes; spec/ui.md): JSON-RPC in both
// directions, one JSON object a line on standard streams or a frame on a
// WebSocket. The carriers differ in nothing else.
//
// A method decodes, calls the domain once and encodes. Events reach the wire
// through one encoder (run_encoder.go), which makes the same messages of a
// record for every UI and marks for which UIs each is. Each session that a UI is
// attached to has one goroutine (attachment.go). Questions become
// requests to the UI, each on a goroutine that waits for the answer (request.go).
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
	"github.com/copilot-portal/portal/handlers/wire"
)

// Origin names this dialect in sessions and answers.
const Origin = "ui"

// MaxMessage is the largest message that is read, in bytes (spec/contracts/ui-protocol.notes.md,
// "Rules that real UIs rely on").
const MaxMessage = 64 << 20

// Options of the [API]. Zero fields take the defaults named.
type Options struct {
	Host     *copilot.Host
	WorkDir  string              // the directory of sessions whose client names none
	Headless permission.Decision // answers questions for UIs that cannot ask; deny
	Version  string              // of the portal
	Sockets  *socket.Server      // carries /ui; nil: [API.Routes] is not used. The caller must close it
	Extra    ExtraMethods        // of every connection; nil: none
	// Admit decides about callers; see [jsonrpc.Options].
	Admit func(ctx context.Context, method string) error
	Log   *slog.Logger // nil: none
}

// API is the dialect. It is safe for concurrent use and needs no close.
type API struct {
	options Options
	deltas  wire.Caches[deltaKey, jsonrpc.Notification]
	lists   messageLists
	methods jsonrpc.Table[*connection]

	mu          sync.Mutex
	toolOwners  map[string]*connection // by session: the UI that declared the client's tools last
	connections map[*connection]bool
}

// New returns an API.
func New(o Options) *API {
	o.Headless = cmp.Or(o.Headless, permission.Deny)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &API{options: o, methods: methods(), toolOwners: map[string]*connection{}, connections: map[*connection]bool{}}
}

// Routes adds GET /ui, a WebSocket.
func (a *API) Routes(r gin.IRoutes) { r.GET("/ui", a.connect) }

func (a *API) connect(c *gin.Context) {
	directory := c.Query("cwd")
	a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		if err := a.Serve(ctx, conn.Frames(ctx), Client{Directory: directory}); err != nil && ctx.Err() == nil {
			a.options.Log.Debug("UI disconnected", "err", err)
		}
	})
}

// Client is what the carrier knows about a UI.
type Client struct {
	Directory string        // its absolute working directory; "": that of the portal
	Grace     time.Duration // limits the wait for a read that cannot be interrupted at the end; 1 s
	// WriteTimeout limits one write, for a carrier that has no limit of its own; 0: none.
	WriteTimeout time.Duration
	Policy       permission.Policy // of the sessions it starts; the rules it names for one take precedence
	// End ends the sessions of a portal that serves this UI alone. It is called when the UI sends no
	// more and everything is answered; the ends of its runs follow. nil: runs continue without the UI.
	End func()
}

// Serve serves one UI until its input ends, ctx ends, or the carrier fails, and closes the
// carrier. It returns nil if the input ended and every request was answered.
func (a *API) Serve(ctx context.Context, carrier jsonrpc.Carrier, o Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := newConnection(a, o)
	options := jsonrpc.Options{
		Admit: a.options.Admit, Fault: RPCError, Log: a.options.Log, IDPrefix: "ui_" + rand.Text()[:6] + "_", Grace: o.Grace, WriteTimeout: o.WriteTimeout,
		Concurrent: concurrent, Waiting: maxWaiting, Queue: maxUnsent, Busy: jsonrpc.Errorf(codeBusy, "Busy", "too many requests are waiting; send fewer at a time"),
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

// maxUnsent is how many bytes may wait for a slow UI; messages behind them stay in the record.
const maxUnsent = 64 << 10

// concurrent limits the requests handled at a time. It exceeds what a UI sends while an agent
// hangs; otherwise the UI could not cancel.
const concurrent = 512

// maxWaiting limits the requests that wait to be handled.
const maxWaiting = 4096

// setToolOwner makes a connection the one that executes the client tools of a session: the last
// that declared some.
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

// removeToolOwner forgets the tools of a connection in a session, or in all if that is "".
func (a *API) removeToolOwner(of string, n *connection) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for session, by := range a.toolOwners {
		if by == n && (of == "" || of == session) {
			delete(a.toolOwners, session)
		}
	}
}

// Package acp serves the portal as an agent of the Agent Client Protocol (spec/acp.md), so that editors use its sessions
// together with all other clients.
//
// A method decodes, calls the domain once and encodes. Each session that an editor has opened is followed by one goroutine
// (attachment.go), which sends what its encoder makes of the record and asks the open questions.
package acp

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
)

// Origin names this dialect in sessions, prompts and answers.
const Origin = "acp"

// MaxMessage is the largest message that is read, in bytes: prompts contain images.
const MaxMessage = 64 << 20

// Options of the [API].
type Options struct {
	Host    *copilot.Host
	Version string         // of the portal
	Sockets *socket.Server // carries /acp; nil: [API.Routes] is not used. The caller must close it
	// Admit decides about callers; see [jsonrpc.Options].
	Admit func(ctx context.Context, method string) error
	Log   *slog.Logger // nil: none
}

// API is the dialect. It is safe for concurrent use and needs no close.
type API struct{ options Options }

// New returns an API.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &API{o}
}

// Routes adds GET /acp, a WebSocket with one message per frame.
func (a *API) Routes(r gin.IRoutes) { r.GET("/acp", a.connect) }

func (a *API) connect(c *gin.Context) {
	id := uuid.NewString()
	c.Header("Acp-Connection-Id", id)
	a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
		if err := a.Serve(ctx, conn.Frames(ctx), Client{}); err != nil && ctx.Err() == nil {
			a.options.Log.Debug("editor disconnected", "connection", id, "err", err)
		}
	})
}

// Client is what the carrier knows about an editor.
type Client struct {
	Grace        time.Duration // limits the wait for a read that cannot be interrupted at the end; 1 s
	WriteTimeout time.Duration // limits one write, for a carrier that has no limit of its own; 0: none
	// OnlyClient says that the editor is the only client of its portal: its runs are cancelled when it sends nothing more, and questions that
	// it cannot answer are refused. Otherwise both continue for other clients.
	OnlyClient bool
}

// maxUnsent is how many bytes may wait for a slow editor; what follows stays in the record.
const maxUnsent = 64 << 10

// concurrent limits the requests handled at a time: a prompt is one until its run has ended.
const concurrent = 512

// Serve serves one editor until its input ends, ctx ends, or the carrier fails, and closes the carrier. It returns nil if the
// input ended and every request was answered.
func (a *API) Serve(ctx context.Context, carrier jsonrpc.Carrier, o Client) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := &connection{api: a, onlyClient: o.OnlyClient, attached: map[string]*attachment{}}
	atEnd := n.abandon
	if o.OnlyClient {
		atEnd = n.cancelRuns
	}
	n.peer = jsonrpc.New(endingCarrier{carrier, atEnd}, n.methods(), jsonrpc.Options{
		Admit: a.options.Admit, Fault: rpcError, Explain: true, Log: a.options.Log, Grace: o.Grace, WriteTimeout: o.WriteTimeout,
		Concurrent: concurrent, Queue: maxUnsent,
	})
	err := n.peer.Run(ctx)
	cancel()
	n.work.Wait()
	return err
}

// endingCarrier calls a function when nothing more can be read.
type endingCarrier struct {
	jsonrpc.Carrier

	end func()
}

// Read reads the next message. It is not called again after an error other than that of a long message.
func (c endingCarrier) Read() ([]byte, error) {
	m, err := c.Carrier.Read()
	if err != nil && !errors.Is(err, jsonrpc.ErrTooLong) {
		c.end()
	}
	return m, err
}

// Package cli implements the CLI's side of the Copilot CLI Protocol (spec/contracts/cli-protocol.md with its notes; spec/cli.md): JSON-RPC
// with the app that started the portal, one message per line. Other carriers may offer its methods, too.
//
// A request takes its turn in the studio when it is read, so that the order of messages counts. It is answered when it is done.
package cli

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs/studio"
)

// MaxMessage limits the size of a message, in bytes.
const MaxMessage = 64 << 20

// serverName is the name that apps expect (spec/contracts/cli-protocol.md, "initialize").
const serverName = "copilot-cli"

// Options configure an [API].
type Options struct {
	Studio  *studio.Host // required
	Version string       // of the portal
	Log     *slog.Logger // nil: none
}

// API serves the dialect. Its methods may be called concurrently.
type API struct{ options Options }

// New returns an API.
func New(o Options) *API {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &API{o}
}

// Methods returns generate, customize and chat, for carriers that offer further methods. Chunks are sent if the carrier
// supports notifications. All errors have codes of
// spec/contracts/cli-protocol.md, "Error Codes".
func (a *API) Methods() jsonrpc.Methods {
	return (&connection{api: a, running: context.Background()}).methods()
}

// connection is a connection with the app that started the portal.
type connection struct {
	api      *API
	noChunks atomic.Bool     // the app does not support streaming
	running  context.Context //nolint:containedctx // cancels requests in progress on exit
	exit     func()
}

// Serve serves an app until its input ends, it sends exit, or ctx ends. The error is that of [jsonrpc.Peer.Run]. At the end,
// Serve waits up to grace for a read or write that cannot be interrupted. It calls exit when the app has sent exit: it reads nothing more,
// and waits for the app to read its answers until ctx ends.
func (a *API) Serve(ctx context.Context, carrier jsonrpc.Carrier, grace time.Duration, exit func()) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	c := &connection{api: a, running: running, exit: func() { stop(); exit() }}
	methods := c.methods()
	methods["initialize"] = jsonrpc.Method{Handle: c.initialize, InOrder: true}
	methods["exit"] = jsonrpc.Method{Handle: c.end, InOrder: true}
	peer := jsonrpc.New(carrier, methods, jsonrpc.Options{
		// The studio limits running and waiting requests; the peer does not.
		Concurrent: maxRequests, Waiting: -1, Busy: busy(), Unread: maxUnread,
		Fault: rpcError, Log: a.options.Log, Grace: grace,
	})
	err := peer.Run(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

const (
	maxRequests = 1000
	maxUnread   = 256 << 20 // bytes of answers that the app has not read; beyond it, no requests are read
)

func (c *connection) methods() jsonrpc.Methods {
	return jsonrpc.Methods{
		"generate":  {Begin: c.generate},
		"customize": {Begin: c.customize},
		"chat":      {Begin: c.chat},
	}
}

type capabilities struct {
	CodeGeneration bool `json:"codeGeneration"`
	Customization  bool `json:"customization"`
	Streaming      bool `json:"streaming"`
}

type initialized struct {
	ServerName    string       `json:"serverName"`
	ServerVersion string       `json:"serverVersion"`
	Capabilities  capabilities `json:"capabilities"`
}

// initialize accepts any parameters, at any time. It is optional.
func (c *connection) initialize(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Capabilities struct {
			Streaming *bool `json:"streaming"`
		} `json:"capabilities"`
	}
	if r.Decode(&p) == nil && p.Capabilities.Streaming != nil {
		c.noChunks.Store(!*p.Capabilities.Streaming)
	}
	return initialized{serverName, c.api.options.Version, capabilities{true, true, true}}, nil
}

// end is exit, as a notification or a request: running requests are cancelled and answered, and no more are read.
func (c *connection) end(_ context.Context, r *jsonrpc.Request) (any, error) {
	r.After(func() {
		r.Peer.Stop()
		c.exit()
	})
	return struct{}{}, nil
}

// Package cli speaks the Copilot CLI Protocol as the CLI (spec/contracts/cli-protocol.md with its notes; spec/cli.md): JSON-RPC with
// an app that has started the portal, one message a line. Its methods may be offered on other carriers as well.
//
// A request takes its turn in the studio when it is read, so that the order of messages counts; it is answered when it is done.
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

// MaxMessage is the largest message that is read, in bytes.
const MaxMessage = 64 << 20

// serverName is the name that apps expect (spec/contracts/cli-protocol.md, "initialize").
const serverName = "copilot-cli"

// Options of an [API].
type Options struct {
	Studio  *studio.Host // required
	Version string       // of the portal
	Log     *slog.Logger // nil: none
}

// API is the dialect. It may be used concurrently.
type API struct{ options Options }

// New makes the API.
func New(o Options) *API {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &API{o}
}

// Methods are generate, customize and chat, for carriers of JSON-RPC that have more to offer. Chunks are sent where the carrier
// can send notifications. All errors have codes of
// spec/contracts/cli-protocol.md, "Error Codes".
func (a *API) Methods() jsonrpc.Methods {
	return (&connection{api: a, working: context.Background()}).methods()
}

// connection is an app that has started the portal.
type connection struct {
	api     *API
	whole   atomic.Bool     // the app wants no chunks
	working context.Context //nolint:containedctx // ends what is at work when the app says exit
	exit    func()
}

// Serve speaks with an app until it says no more or exit, or ctx ends. The error is that of [jsonrpc.Peer.Run]. What the app
// does not take in the end is waited for as long as grace.
func (a *API) Serve(ctx context.Context, carrier jsonrpc.Carrier, grace time.Duration) error {
	working, stop := context.WithCancel(ctx)
	defer stop()
	c := &connection{api: a, working: working, exit: stop}
	methods := c.methods()
	methods["initialize"] = jsonrpc.Method{Handle: c.initialize, InOrder: true}
	methods["exit"] = jsonrpc.Method{Handle: c.end, InOrder: true}
	peer := jsonrpc.New(carrier, methods, jsonrpc.Options{
		// The studio says how much is at work and how much waits; here nothing does.
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
	maxUnread   = 256 << 20 // bytes of answers that the app has not read; it is read on until then
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

// initialize takes any parameters, and may come at any time or never.
func (c *connection) initialize(_ context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Capabilities struct {
			Streaming *bool `json:"streaming"`
		} `json:"capabilities"`
	}
	if r.Decode(&p) == nil && p.Capabilities.Streaming != nil {
		c.whole.Store(!*p.Capabilities.Streaming)
	}
	return initialized{serverName, c.api.options.Version, capabilities{true, true, true}}, nil
}

// end is exit, whether it is a notification or not: what is at work ends, is answered so, and nothing more is read.
func (c *connection) end(_ context.Context, r *jsonrpc.Request) (any, error) {
	r.After(func() {
		r.Peer.Stop()
		c.exit()
	})
	return struct{}{}, nil
}

// withExit is a context that ends with exit as well.
func (c *connection) withExit(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.working, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

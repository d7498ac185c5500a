// Package ui is a placeholder for the dialect of terminal and desktop UIs: it answers initialize.
package ui

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
)

// MaxMessage is the longest message, in bytes.
const MaxMessage = 64 << 20

// Options of the [API].
type Options struct {
	Host     *copilot.Host
	WorkDir  string           // of sessions whose client names no directory
	Headless copilot.Decision // decides in place of a UI that cannot ask
	Version  string           // of the portal
	Sockets  *socket.Server   // nil: Routes is not used
	Log      *slog.Logger
}

// API is the dialect.
type API struct{ options Options }

// Client is what is known of a client before it says something.
type Client struct {
	Directory string        // absolute
	Grace     time.Duration // how long a read that cannot be interrupted is waited for
}

// New makes the API.
func New(o Options) *API { return &API{o} }

// Routes adds /ui below r.
func (a *API) Routes(r gin.IRouter) {
	r.GET("/ui", func(c *gin.Context) {
		a.options.Sockets.Serve(c.Writer, c.Request, func(ctx context.Context, conn *socket.Conn) {
			err := a.Serve(ctx, conn.Frames(ctx), Client{Directory: c.Query("cwd")})
			if err != nil && !errors.Is(err, context.Canceled) {
				a.options.Log.Debug("a UI has ended", "err", err)
			}
		})
	})
}

// Serve speaks with one client.
func (a *API) Serve(ctx context.Context, carrier jsonrpc.Carrier, o Client) error {
	return jsonrpc.New(carrier, jsonrpc.Methods{"initialize": {Handle: func(context.Context, *jsonrpc.Request) (any, error) {
		return map[string]any{"protocol_version": "0", "server": map[string]string{"version": a.options.Version}, "directory": o.Directory}, nil
	}}, "model.list": {Handle: func(ctx context.Context, _ *jsonrpc.Request) (any, error) {
		return a.options.Host.Models(ctx)
	}}}, jsonrpc.Options{Grace: o.Grace, Log: a.options.Log}).Run(ctx)
}

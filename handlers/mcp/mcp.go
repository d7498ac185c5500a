// Package mcp serves the portal as a server of the Model Context Protocol (spec/mcp.md), so that agents of any vendor
// start sessions, wait for their answers, and run jobs and operations.
//
// A tool decodes its arguments, calls the domain once and encodes the result; its handler is the goroutine that waits for a
// run. The SDK's server speaks the protocol, on streams ([API.Serve]) and over HTTP ([API.Routes]).
package mcp

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/operation"
)

// Origin identifies this dialect in sessions, prompts and answers.
const Origin = "mcp"

// MaxMessage is the maximum size of a message, in bytes.
const MaxMessage = 32 << 20

// connectionIdle is how long a client over HTTP may send nothing until its connection is forgotten. Its sessions stay.
const connectionIdle = 12 * time.Hour

// path is the path of the protocol over HTTP.
const path = "/mcp"

// Options configure an [API].
type Options struct {
	Host       *copilot.Host
	Jobs       *jobs.Host
	BookFault  error // why the job book cannot be used; nil if it can
	Operations *operation.Host
	WorkDir    string // of sessions, jobs and operations that name none
	Version    string // of the portal

	Depth    int // number of agents above this portal, see [DepthVariable]
	MaxDepth int // maximum number of agents in a chain in which each starts the next

	Log *slog.Logger // nil disables logging
}

// API serves the dialect. It is safe for concurrent use. The caller must close it after the hosts.
type API struct {
	options Options
	server  *sdk.Server
	tools   []string // their names, by which the portal recognizes calls of its own agents
	http    *sdk.StreamableHTTPHandler

	stopping context.Context //nolint:containedctx // of all calls, which come with contexts of their own
	endCalls context.CancelFunc
}

// New returns an API.
func New(o Options) *API {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	a := &API{options: o}
	a.stopping, a.endCalls = context.WithCancel(context.Background())
	a.server = sdk.NewServer(
		&sdk.Implementation{Name: "copilot-portal", Title: "Copilot Portal", Version: o.Version},
		&sdk.ServerOptions{
			Instructions: instructions,
			Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}, Resources: &sdk.ResourceCapabilities{}}, // the lists never change
		},
	)
	a.server.AddReceivingMiddleware(a.recovered)
	a.addTools()
	a.addResources()
	a.http = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return a.server }, &sdk.StreamableHTTPOptions{
		SessionTimeout:             connectionIdle,
		DisableLocalhostProtection: true, // the portal's guard checks Host and Origin, and knows the configured names
	})
	return a
}

// instructions tell the client's model how to use the tools.
const instructions = `Each session of this portal is a conversation with a coding agent that works in a directory.
Call start_session, then prompt, which waits for the answer. If the state is "waiting", the agent needs an answer to a
question: decide it with your user, call answer, and the agent goes on. If the state is "working" or "queued", call wait.`

// Serve serves one client on streams, with one message per line, until the input ends and every request is answered, or ctx is done. It
// closes in and out. It calls end when the input has ended: end must end the sessions, so that nothing waits for them.
func (a *API) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, end func()) error {
	return a.server.Run(ctx, newLineTransport(in, out, func() {
		end()
		a.endCalls()
	}))
}

// Routes adds the route of clients over HTTP.
func (a *API) Routes(r gin.IRoutes) {
	r.POST(path, a.serveHTTP)
	r.GET(path, a.serveHTTP)
	r.DELETE(path, a.serveHTTP)
}

// Streams returns the routes whose requests wait on purpose.
func Streams() []string { return []string{path} }

func (a *API) serveHTTP(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Request.Body = jsonrpc.LimitBody(c.Writer, c.Request, MaxMessage)
	if c.Request.Method == http.MethodGet { // a stream without end
		ctx, cancel := a.untilStop(c.Request.Context())
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
	}
	a.http.ServeHTTP(c.Writer, c.Request)
}

// Close ends the streams of clients over HTTP, and the waiting of calls, which are answered as if their time had passed. The sessions must
// have ended. The HTTP server waits for the answers; the connections of the SDK stay open, because closing one drops those that are not
// written.
func (a *API) Close() { a.endCalls() }

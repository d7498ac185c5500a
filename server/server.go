// Package server assembles the portal: the configuration, the pool of agents, and the dialects, which share
// one port and one guard. It starts and stops all of them.
package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/acp"
	"github.com/copilot-portal/portal/handlers/mcp"
	"github.com/copilot-portal/portal/handlers/rest"
	"github.com/copilot-portal/portal/handlers/rpc"
	"github.com/copilot-portal/portal/handlers/terminal"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/handlers/ws"
)

// Server is a portal. [New] creates it, [Server.Listen] opens its port, and [Server.Serve] runs and closes
// it. The configured job book should be checked before, with [Config.CheckBook].
type Server struct {
	*portalCore

	rest           *rest.API
	rpc            *rpc.API
	ui             *ui.API
	terminal       *terminal.API
	mcp            *mcp.API
	acp            *acp.API
	ws             *ws.API
	webSockets     webSockets
	guesses        ws.TokenGuesses // wrong tokens on all routes
	guard          guard
	listeners      listeners
	limits         limits
	http           *http.Server
	generatedToken string // the generated token, if none is configured
	stop           chan struct{}
	requestStop    func() // closes stop; may be called repeatedly
}

// New creates a portal that does not listen yet. version is the version of this program. New opens the data
// directory, which may take a few seconds if another program has it locked.
func New(ctx context.Context, c Config, version string, log *slog.Logger) *Server {
	s := &Server{portalCore: newCore(ctx, c, version, log), webSockets: newWebSockets(c, log), limits: defaultLimits(), stop: make(chan struct{})}
	s.requestStop = sync.OnceFunc(func() { close(s.stop) })
	s.rpc = s.newRPC()
	s.ui = s.newUI(s.webSockets.ui)
	s.terminal = s.newTerminal()
	s.ws = s.newWS()
	s.mcp = s.newMCP()
	s.acp = s.newACP(s.webSockets.acp)
	s.rest = rest.New(rest.Options{
		Host: s.host, Policy: permission.Everywhere(c.Permissions.Rest), WorkDir: workDir(), Stop: s.requestStop,
		Jobs: s.jobs, BookFault: s.book.clientError(),
	})
	return s
}

// driverOptions returns the options of the Copilot CLI. The caller must close d after everything that it
// starts.
func driverOptions(c Config, d *demoModel, log *slog.Logger) sdk.Options {
	environment := c.CopilotEnv
	if c.SkippedCLI() != "" {
		environment = ""
	}
	return sdk.Options{
		Locate:    sdk.Locate{Configured: c.CopilotPath, Environment: environment, Beside: ownDirectory(), DataDir: c.DataDir},
		Env:       append(agentEnvironment(os.Environ()), mcp.DepthVariable+"="+strconv.Itoa(c.Depth+1)),
		Providers: c.sdkProviders(), WithoutAccount: !c.Account, Fault: c.missingKeys(),
		Demo: d.start, DemoAlways: c.Demo,
		Sandbox: c.newSandbox(),
		Log:     log,
	}
}

// newHost creates the host of sessions as configured.
func newHost(c Config, d drivers, kept storage, log *slog.Logger) *copilot.Host {
	o := copilot.Options{
		Launch: d.first.Launch, Health: d.first.Health, Capabilities: d.first.Capabilities, Agents: d.named(c),
		Pool: c.pool(),
		Limits: copilot.Limits{
			Sessions: c.Limits.Sessions, Runs: c.Limits.Runs,
			Question: c.Limits.Question, Tool: c.Limits.Tool, Idle: c.Limits.Idle,
		},
		Policy: c.policy(), Unattended: c.unattended(), Model: c.Model, ModelTitles: c.modelTitles(),
		Store: kept.store, Sockets: filepath.Join(c.DataDir, "sockets"), Log: log,
		Checkpoints: kept.checkpoints, WithoutCheckpoints: withoutCheckpoints(),
	}
	if kept.cluster != nil {
		o.Remote, o.Accepting = kept.cluster.node, kept.cluster.node.Accepting
		o.Others, o.Directories = kept.cluster.node.Candidates, c.Cluster.Directories
		o.Moves = kept.cluster.moves(c, d.first)
	}
	if cli, ok := d.first.(*sdk.Driver); ok && c.Sandbox {
		o.LaunchIn = cli.LaunchIn // a process for each directory
	}
	return copilot.NewHost(o)
}

// SkippedCLI returns a warning if COPILOT_CLI_PATH is ignored because it names a portal: apps set it to start
// a portal as their CLI. Otherwise it returns "".
func (c *Config) SkippedCLI() string {
	if c.CopilotPath != "" || c.CopilotEnv == "" || !sdk.IsPortal(c.CopilotEnv) {
		return ""
	}
	return fmt.Sprintf("COPILOT_CLI_PATH names a portal (%s), not the Copilot CLI. It is ignored.", c.CopilotEnv)
}

func ownDirectory() string {
	path, err := os.Executable()
	if err != nil {
		return ""
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return filepath.Dir(path)
}

// Listen opens the port. If no token is configured, it generates one beyond loopback, for other host names, for pages of other
// origins, and with a sandbox. If it fails, it has closed the portal.
func (s *Server) Listen(ctx context.Context) error {
	if s.config.Token == "" && s.config.wantsToken() {
		s.config.Token = rand.Text()
		s.generatedToken = s.config.Token
	}
	var err error
	if s.listeners, err = s.config.listen(ctx); err != nil {
		s.closeGently(ctx)
		s.close()
		return err
	}
	s.port = s.Port
	s.guard = newGuard(s.config, s.Port(), &s.guesses, s.shares)
	return nil
}

// Port returns the open port. It is valid after Listen.
func (s *Server) Port() int { return s.listeners.port() }

// URL returns the address to open in a browser. It contains a generated token but never a configured one,
// which must stay out of logs. It is valid after Listen.
func (s *Server) URL() string {
	return s.listeners.url(s.config, s.generatedToken)
}

// The time limits of stopping: for operations and jobs, then for sessions and agents to stop gracefully, for all connections, and for
// the last responses of connections after all streams have ended. Shutdown would otherwise wait for connections that never sent a
// request.
const (
	stopWork   = time.Second
	stopGently = 1500 * time.Millisecond
	stopAtAll  = 3500 * time.Millisecond
	drain      = 500 * time.Millisecond
)

// within calls a function with a time limit, even if ctx is done.
func within(ctx context.Context, limit time.Duration, stop func(context.Context)) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	stop(ctx)
}

// Serve answers requests until ctx is done or a client requests a stop. Then it stops accepting connections,
// ends operations and jobs and sends their last messages, closes sessions, which ends all streams, drains the
// connections, and stops the agents. It returns nil after a stop.
func (s *Server) Serve(ctx context.Context) error {
	s.http = s.newHTTP()
	failed := make(chan error, len(s.listeners))
	limiter, count := newConnectionLimiter(s.limits), newConnectionCount()
	var serving sync.WaitGroup
	for _, l := range s.listeners {
		if s.config.TLS.isOn() {
			l = newTLSListener(l, s.config.TLS, s.log)
		}
		serving.Go(func() {
			failed <- s.http.Serve(&limitedListener{Listener: l, limits: s.limits, limiter: limiter, count: count, log: s.log})
		})
	}
	work := background(ctx, s.recoverSessions, s.retain, s.recoverWork(s.work.Recover, s.jobs.Recover), s.keepWarm, func(ctx context.Context) { s.releaseMemory(ctx, count.manyClosed) })
	var err error
	select {
	case err = <-failed:
	case <-ctx.Done():
		s.log.Info("stopping")
	case <-s.stop:
		s.log.Info("stopping at the request of a client")
	}
	work.stop()
	s.shutdown(context.WithoutCancel(ctx))
	work.wait()
	s.close()
	serving.Wait()
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	return err
}

// keepWarm keeps an agent running until ctx is done, if configured.
func (s *Server) keepWarm(ctx context.Context) {
	if s.config.keepsWarm() {
		s.host.KeepWarm(ctx)
	}
}

// newHTTP creates the HTTP server. It has no write timeout, because streams and long polls stay open; [conn]
// sets a deadline for each write.
func (s *Server) newHTTP() *http.Server {
	return &http.Server{
		Handler:           s.compressed(s.routes()),
		ReadHeaderTimeout: s.limits.header,
		IdleTimeout:       s.limits.idle,
		MaxHeaderBytes:    maxHead,
		ConnState:         follow,
		ConnContext:       func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) },

		DisableGeneralOptionsHandler: true, // otherwise "OPTIONS *" would bypass the guard
		ErrorLog:                     slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// shutdown ends everything but the storage.
func (s *Server) shutdown(ctx context.Context) {
	all, cancelAll := context.WithTimeout(ctx, stopAtAll)
	defer cancelAll()
	var work sync.WaitGroup
	work.Go(s.rpc.Close)
	work.Go(func() { _ = s.webSockets.terminal.Close(all) }) // at once: ending what shells started takes time
	work.Go(func() {
		within(ctx, stopWork, s.closeWork)
		var streams sync.WaitGroup
		streams.Go(func() { s.ws.Close(all) })                       // some clients use up its time
		streams.Go(func() { within(ctx, stopGently, s.host.Close) }) // ends the streams that Shutdown waits for
		streams.Wait()
		s.mcp.Close()
		s.webSockets.close(all)
		time.AfterFunc(drain, cancelAll)
	})
	work.Go(func() {
		if s.http.Shutdown(all) != nil {
			_ = s.http.Close() // some connections do not end by themselves
		}
	})
	work.Wait()
}

// demoModel is the scripted model. It starts on first use.
type demoModel struct {
	mu     sync.Mutex
	server *demo.Server
}

// demoProvider is the CLI's name for the demo.
const demoProvider = "portal-demo"

func (d *demoModel) start() (sdk.Provider, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server == nil {
		server, err := demo.Start()
		if err != nil {
			return sdk.Provider{}, err
		}
		d.server = server
	}
	return sdk.Provider{
		Name: demoProvider, Title: demo.ModelName, Type: "openai",
		BaseURL: d.server.URL(), APIKey: d.server.Key(), Models: []string{demo.ModelID},
	}, nil
}

func (d *demoModel) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.server != nil {
		_ = d.server.Close() // the process is about to end
	}
}

package sdk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Agent is a CLI process; it is an [agent.Agent].
type Agent struct {
	driver       *Driver
	process      *child
	client       *vendor.Client
	version      string
	catalog      catalog
	ack          *quickAck
	calls        sync.RWMutex // read-locked by calls of the client, which must not be stopped during them
	done         chan struct{}
	lastActivity atomic.Int64 // time of the latest sign of life, in Unix nanoseconds
}

// supervise waits for the end of the process and cleans up: it releases the calls that wait for it, and ends
// its children.
func (a *Agent) supervise() {
	defer close(a.done)
	<-a.process.Exited()
	a.calls.Lock() // calls in progress end with the process
	a.client.ForceStop()
	a.ack.close()
	a.calls.Unlock()
	n := a.process.EndChildren()
	a.process.release()
	a.driver.options.Log.Info("the Copilot CLI has ended", "pid", a.process.PID(), "how", a.process.State(), "left", n)
}

// Time limits of calls of the client, whatever their callers allow.
const (
	callTimeout = 20 * time.Second // answered at once, or a request to the vendor's servers
	openTimeout = time.Minute      // may start MCP servers
)

// errEnded is the error of calls after the process has ended, or its connection has.
var errEnded = fault.Errorf(fault.Unavailable, "the Copilot CLI's process has ended")

// ended returns the error of a call: that of calls after the end if the process has ended, or its connection is broken, which happens shortly
// before.
func (a *Agent) ended(err error) error {
	if _, broken := errors.AsType[*net.OpError](err); broken || err != nil && a.process.HasEnded() {
		return errEnded
	}
	return err
}

// call makes a call of the client, which ends with the process at the latest.
func (a *Agent) call(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	a.calls.RLock()
	defer a.calls.RUnlock()
	if a.process.HasEnded() {
		return errEnded
	}
	ctx, cancelLimit := context.WithTimeout(ctx, limit)
	defer cancelLimit()
	ctx, cancel := a.process.During(ctx)
	defer cancel()
	defer a.ack.await()()
	err := do(ctx)
	if err == nil {
		a.recordActivity()
	}
	return a.ended(err)
}

// fetch makes a call of the client that returns a value; see [Agent.call].
func fetch[T any](ctx context.Context, a *Agent, limit time.Duration, do func(context.Context) (T, error)) (v T, err error) {
	err = a.call(ctx, limit, func(ctx context.Context) (err error) {
		v, err = do(ctx)
		return err
	})
	return v, err
}

// recordActivity records a sign of life.
func (a *Agent) recordActivity() { a.lastActivity.Store(time.Now().UnixNano()) }

// Done returns a channel that is closed when the process and everything it started have ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// Exit describes how the process ended; see [agent.Agent].
func (a *Agent) Exit() string { return a.process.Exit(a.process.stderr.String()) }

// Stop stops the process: gracefully until ctx is done, then by force.
func (a *Agent) Stop(ctx context.Context) {
	a.process.Terminate()
	select {
	case <-a.process.Exited():
	case <-ctx.Done():
		a.process.Kill()
	}
	<-a.done
}

// Models lists the vendor's models if signed in, those of the configured providers, and the demo if
// appropriate.
func (a *Agent) Models(ctx context.Context) ([]agent.Model, error) {
	entries, err := a.catalog.entries(ctx)
	if err != nil {
		return nil, err
	}
	models := make([]agent.Model, len(entries))
	for i, e := range entries {
		models[i] = e.Model
	}
	return models, nil
}

// Open starts a conversation, or resumes the one saved under the session's id.
func (a *Agent) Open(ctx context.Context, o agent.Opening, sink agent.Sink) (agent.Conversation, error) {
	entries, err := a.catalog.entries(ctx)
	if err != nil {
		return nil, err
	}
	if err := a.checkTools(ctx, o.Tools); err != nil {
		return nil, err
	}
	c := newConversation(a, o, entries, sink)
	resumed := false
	err = a.call(ctx, openTimeout, func(ctx context.Context) error {
		c.session, resumed, err = a.open(ctx, o, sessionConfig(o, c))
		return err
	})
	if err == nil {
		err = c.inspectResumed(ctx, o, resumed)
	}
	if err != nil {
		c.session = nil
		c.detachSink()
		close(c.opened)
		c.work.Wait() // without a session there is no plan to read
		return nil, a.refused(err)
	}
	close(c.opened)
	return c, nil
}

// refused wraps an error of the CLI in one for users.
func (a *Agent) refused(err error) error {
	if errors.Is(err, errEnded) {
		return err
	}
	if _, own, ok := strings.Cut(err.Error(), " failed with message: "); ok { // its own message is enough
		err = errors.New(own)
	}
	return fault.Errorf(fault.KindOf(err), "the Copilot CLI refused: %w", err)
}

func sessionConfig(o agent.Opening, c *conversation) vendor.SessionConfig {
	config := vendor.SessionConfig{
		SessionID:        o.Session,
		ClientName:       "copilot-portal",
		Model:            vendorModel(c.models, o.Model),
		WorkingDirectory: o.Directory,
		EnableFileHooks:  vendor.Bool(false), // those of the directory run commands without a question
		Streaming:        vendor.Bool(true),
		OnEvent:          c.event,
		// The decision is made when the event of the request arrives, because only that carries its id.
		OnPermissionRequest: func(vendor.PermissionRequest, vendor.PermissionInvocation) (rpc.PermissionDecision, error) {
			return &rpc.PermissionDecisionNoResult{}, nil
		},
	}
	config.Providers, config.Models = providerConfig(c.models)
	for _, t := range o.Tools {
		config.Tools = append(config.Tools, vendorTool(t))
	}
	config.MCPServers = vendorServers(o)
	if c.files != nil {
		config.Hooks = c.files.hooks()
	}
	if o.AskUser {
		config.OnUserInputRequest, config.OnElicitationRequest, config.OnExitPlanModeRequest = c.input, c.elicitation, c.exitPlan
	}
	return config
}

func resumeConfig(c vendor.SessionConfig, goOn bool) *vendor.ResumeSessionConfig {
	return &vendor.ResumeSessionConfig{
		ClientName: c.ClientName, Model: c.Model, WorkingDirectory: c.WorkingDirectory,
		EnableFileHooks: c.EnableFileHooks,
		Streaming:       c.Streaming, OnEvent: c.OnEvent,
		OnPermissionRequest: c.OnPermissionRequest, OnUserInputRequest: c.OnUserInputRequest,
		OnElicitationRequest: c.OnElicitationRequest, OnExitPlanModeRequest: c.OnExitPlanModeRequest,
		Tools: c.Tools, MCPServers: c.MCPServers, Hooks: c.Hooks,
		Providers: c.Providers, Models: c.Models,
		ContinuePendingWork: vendor.Bool(goOn),
	}
}

// signedIn reports whether the CLI may use the vendor's models.
func (a *Agent) signedIn(ctx context.Context) (bool, error) {
	status, err := fetch(ctx, a, callTimeout, a.client.GetAuthStatus)
	if err != nil {
		return false, fmt.Errorf("querying the sign-in state: %w", err)
	}
	return status.IsAuthenticated, nil
}

package sdk

import (
	"context"
	"fmt"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

// Agent is one CLI process; it is a [copilot.Agent].
type Agent struct {
	driver  *Driver
	process *process
	client  *vendor.Client
	version string
	done    chan struct{}
}

// supervise waits for the end of the process, however it comes, and cleans up
// after it: it frees the calls that still wait for it and ends what it left
// running.
func (a *Agent) supervise() {
	defer close(a.done)
	<-a.process.gone
	a.client.ForceStop()
	n := a.process.endChildren()
	a.driver.options.Log.Info("the Copilot CLI has ended", "pid", a.process.pid(), "how", a.process.err, "left", n)
}

// Done is closed when the process and all that it started have ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// Stop ends the process: politely until ctx is done, then by force.
func (a *Agent) Stop(ctx context.Context) {
	a.process.terminate()
	select {
	case <-a.process.gone:
	case <-ctx.Done():
		a.process.kill()
	}
	<-a.done
}

// Models lists the vendor's models when signed in, those of the configured
// providers, and the demo where it belongs.
func (a *Agent) Models(ctx context.Context) ([]copilot.Model, error) {
	entries, err := a.driver.catalog.entries(ctx, a)
	if err != nil {
		return nil, err
	}
	models := make([]copilot.Model, len(entries))
	for i, e := range entries {
		models[i] = e.Model
	}
	return models, nil
}

// Open begins a conversation or takes up the one saved under the session's id.
func (a *Agent) Open(ctx context.Context, o copilot.Opening, sink copilot.Sink) (copilot.Conversation, error) {
	entries, err := a.driver.catalog.entries(ctx, a)
	if err != nil {
		return nil, err
	}
	c := newConversation(a, entries, sink)
	config := sessionConfig(o, c)
	c.session, err = a.open(ctx, o, config)
	if err != nil {
		return nil, a.refused(err)
	}
	close(c.opened)
	return c, nil
}

func (a *Agent) open(ctx context.Context, o copilot.Opening, config vendor.SessionConfig) (*vendor.Session, error) {
	if !o.Resume {
		return a.client.CreateSession(ctx, &config)
	}
	s, err := a.client.ResumeSession(ctx, o.Session, resumeConfig(config))
	if err == nil {
		return s, nil
	}
	// Without a prompt nothing was saved; a damaged save must not lock the user out either.
	a.driver.options.Log.Warn("a saved conversation could not be taken up; it begins anew", "session", o.Session, "err", err)
	return a.client.CreateSession(ctx, &config)
}

// refused makes an error of the CLI one for users.
func (a *Agent) refused(err error) error {
	return copilot.Errorf(copilot.KindOf(err), "the Copilot CLI refused: %w", err)
}

func sessionConfig(o copilot.Opening, c *conversation) vendor.SessionConfig {
	config := vendor.SessionConfig{
		SessionID:        o.Session,
		ClientName:       "copilot-portal",
		Model:            vendorModel(c.models, o.Model),
		WorkingDirectory: o.Directory,
		Streaming:        vendor.Bool(true),
		OnEvent:          c.event,
		// Decided when the event of the request arrives, which carries its id.
		OnPermissionRequest: func(vendor.PermissionRequest, vendor.PermissionInvocation) (rpc.PermissionDecision, error) {
			return &rpc.PermissionDecisionNoResult{}, nil
		},
	}
	config.Providers, config.Models = providerConfig(c.models)
	if o.AskUser {
		config.OnUserInputRequest = c.park
	}
	return config
}

func resumeConfig(c vendor.SessionConfig) *vendor.ResumeSessionConfig {
	return &vendor.ResumeSessionConfig{
		ClientName: c.ClientName, Model: c.Model, WorkingDirectory: c.WorkingDirectory,
		Streaming: c.Streaming, OnEvent: c.OnEvent,
		OnPermissionRequest: c.OnPermissionRequest, OnUserInputRequest: c.OnUserInputRequest,
		Providers: c.Providers, Models: c.Models,
		ContinuePendingWork: vendor.Bool(false),
	}
}

// callTimeout bounds calls that the CLI answers at once, whatever their caller
// allows: a killed CLI answers none.
const callTimeout = 10 * time.Second

// signedIn asks the CLI whether it may use the vendor's models.
func (a *Agent) signedIn(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	status, err := a.client.GetAuthStatus(ctx)
	if err != nil {
		return false, fmt.Errorf("asking for the sign-in state: %w", err)
	}
	return status.IsAuthenticated, nil
}

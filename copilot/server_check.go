package copilot

import (
	"context"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
)

const (
	serverStart  = 20 * time.Second // how long servers may take to start before they are reported as they are
	serverSignIn = 10 * time.Minute // how long a sign-in in the browser may take
)

// trial is a conversation without prompts that exists only to start the MCP servers of a directory.
type trial struct {
	agent.Conversation

	lease   agent.Lease
	session string
	changed chan struct{} // has an element after a server has changed
}

// CheckServers starts the MCP servers of a directory as a new session would, and returns their states, with the reasons of failures. It
// waits for them for at most 20 s. It starts an agent process if none runs. Errors as of [Host.Extensions].
func (h *Host) CheckServers(ctx context.Context, directory string) ([]event.Server, error) {
	t, err := h.try(ctx, directory)
	if err != nil {
		return nil, err
	}
	defer t.end()
	return t.settled(ctx)
}

// SignInToServer starts the sign-in to an MCP server of a directory that needs one, and returns the page to visit; "" if it needs none.
// The sign-in holds for all sessions that are opened later. The server is given 10 minutes. Errors: as of [Session.SignIn].
func (h *Host) SignInToServer(ctx context.Context, directory, name string) (url string, err error) {
	t, err := h.try(ctx, directory)
	if err != nil {
		return "", err
	}
	if _, err = t.settled(ctx); err == nil {
		url, err = t.SignIn(ctx, name)
	}
	if err != nil || url == "" {
		t.end()
		return "", err
	}
	h.work.Go(func() { // the agent waits for the browser as long as the conversation is open
		defer t.end()
		t.awaitSignIn(h.work.ctx, name)
	})
	return url, nil
}

// try opens a trial. The caller must end it.
func (h *Host) try(ctx context.Context, directory string) (*trial, error) {
	lease, err := h.leaseIn(ctx, directory)
	if err != nil {
		return nil, err
	}
	model, err := h.findModel(ctx, h.agents[0], lease.Agent, "")
	if err != nil {
		lease.Release()
		return nil, err
	}
	t := &trial{lease: lease, session: newID(), changed: make(chan struct{}, 1)}
	t.Conversation, err = lease.Agent.Open(ctx, agent.Opening{Session: t.session, Model: model.ID, Directory: directory}, t.sink)
	if err != nil {
		lease.Release()
		return nil, err
	}
	return t, nil
}

func (t *trial) sink(_ string, body event.Body) {
	if _, ok := body.(event.ServerChanged); ok {
		signal(t.changed)
	}
}

// settled waits until no server is starting, for a limited time, and returns the servers.
func (t *trial) settled(ctx context.Context) ([]event.Server, error) {
	limit := time.NewTimer(serverStart)
	defer limit.Stop()
	for isLast := false; ; {
		x, err := t.Extensions(ctx)
		if err != nil {
			return nil, err
		}
		if isLast || !slices.ContainsFunc(x.Servers, func(s event.Server) bool { return s.State == event.ServerPending }) {
			for i := range x.Servers {
				x.Servers[i].Error = secret.Mask(x.Servers[i].Error)
			}
			return x.Servers, nil
		}
		select {
		case <-t.changed:
		case <-limit.C:
			isLast = true
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-t.lease.Agent.Done():
			return nil, fault.Errorf(fault.Unavailable, "the agent's process ended while it started the MCP servers; try again")
		}
	}
}

// awaitSignIn waits until a server needs no sign-in any more, or it took too long.
func (t *trial) awaitSignIn(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, serverSignIn)
	defer cancel()
	for {
		select {
		case <-t.changed:
		case <-ctx.Done():
			return
		case <-t.lease.Agent.Done():
			return
		}
		x, err := t.Extensions(ctx)
		if err != nil || !slices.ContainsFunc(x.Servers, func(s event.Server) bool {
			return s.Name == name && (s.State == event.ServerSignIn || s.State == event.ServerPending)
		}) {
			return
		}
	}
}

// end closes the conversation and deletes what the agent saved of it.
func (t *trial) end() {
	defer t.lease.Release()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	_ = t.Close(ctx)                         // a failure means that the process has ended
	_ = t.lease.Agent.Forget(ctx, t.session) // likewise
}

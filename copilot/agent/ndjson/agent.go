package ndjson

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Agent is one program that runs; it is a [agent.Agent].
type Agent struct {
	client *Client
	link   *link
	model  string

	mu   sync.Mutex
	tabs map[string]int // how many conversations of a session there were
}

func newAgent(c *Client, model string) *Agent {
	return &Agent{client: c, link: c.preventRestart(), model: model, tabs: map[string]int{}}
}

// alive is the error of calls that are too late.
func (a *Agent) alive(ctx context.Context) error {
	if a.link.isOver() {
		return errGone
	}
	return ctx.Err()
}

// Open begins a conversation. None is ever resumed: spec/contracts/cli-protocol.md, "chat",
// has no history.
func (a *Agent) Open(ctx context.Context, o agent.Opening, sink agent.Sink) (agent.Conversation, error) {
	if err := a.alive(ctx); err != nil {
		return nil, err
	}
	if len(o.Tools) > 0 {
		return nil, cannot("use tools of clients")
	}
	c := &conversation{agent: a, sink: sink, tab: a.tab(o.Session), id: rand.Text()}
	c.reportNotResumed(o)
	return c, nil
}

// tab names a conversation to the program. One of the same session in the same
// process must not know what was said in an earlier one.
func (a *Agent) tab(session string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tabs[session]++
	if n := a.tabs[session]; n > 1 {
		return fmt.Sprintf("%s/%d", session, n)
	}
	return session
}

// cannot is the error of what spec/contracts/cli-protocol.md has no method for.
func cannot(what string) error {
	return fault.Errorf(fault.Invalid, "this agent, which speaks the Copilot CLI Protocol, cannot %s", what)
}

// Fork never finds anything: nothing is saved.
func (a *Agent) Fork(ctx context.Context, _ string) (string, error) {
	if err := a.alive(ctx); err != nil {
		return "", err
	}
	return "", fault.Errorf(fault.NotFound, "%w", cannot("copy a conversation"))
}

// Forget has nothing to delete.
func (a *Agent) Forget(ctx context.Context, _ string) error { return a.alive(ctx) }

// Models lists the one that there is, by the name of the program.
func (a *Agent) Models(ctx context.Context) ([]agent.Model, error) {
	return []agent.Model{{ID: a.model, Name: a.model, Multiplier: 1}}, a.alive(ctx)
}

// Account knows nothing.
func (a *Agent) Account(ctx context.Context) (agent.Account, error) {
	return agent.Account{}, a.alive(ctx)
}

// SignOut has nobody to sign out.
func (a *Agent) SignOut(ctx context.Context) (bool, error) { return false, a.alive(ctx) }

// Extensions finds none.
func (a *Agent) Extensions(ctx context.Context, _ string) (agent.Extensions, error) {
	return agent.Extensions{}, a.alive(ctx)
}

// Ping waits for a sign of life if the program owes one: an answer that is out of
// its time, or the reading of a request. Else it is taken to live.
func (a *Agent) Ping(ctx context.Context) error { return a.link.ping(ctx) }

// Memory is what the program holds, without what it started.
func (a *Agent) Memory() int64 { return a.link.program.memory() }

// Done is closed when the program and all that it started have ended.
func (a *Agent) Done() <-chan struct{} { return a.link.done }

// Exit says how the program has ended; see [agent.Agent].
func (a *Agent) Exit() string { return a.link.program.exit() }

// Stop ends the program: it is told to exit, its input ends, then SIGTERM, and
// when ctx is done SIGKILL.
func (a *Agent) Stop(ctx context.Context) { a.client.Close(ctx) }

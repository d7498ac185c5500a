// Package ndjson drives any program that speaks the Copilot CLI Protocol: JSON-RPC 2.0 on its standard streams, one
// message per line. [Client] has the methods of the protocol with its time limits and retries. [Driver] makes such a
// program an agent of the portal; its prompts are chats. spec/cli.md describes what the protocol leaves open.
package ndjson

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"

	"github.com/copilot-portal/portal/copilot/agent"
)

// Agent is a running program, as an [agent.Agent].
type Agent struct {
	agent.Limited

	client *Client
	link   *link
	model  agent.Model

	mu   sync.Mutex
	tabs map[string]int // number of conversations that each session has had
}

// Open opens a conversation, always a new one: spec/contracts/cli-protocol.md, "chat", has no history.
func (a *Agent) Open(ctx context.Context, o agent.Opening, sink agent.Sink) (agent.Conversation, error) {
	if err := a.Alive(ctx); err != nil {
		return nil, err
	}
	if len(o.Tools) > 0 {
		return nil, a.Cannot(agent.ClientTools.Operation())
	}
	a.mu.Lock()
	a.tabs[o.Session]++
	tab, n := o.Session, a.tabs[o.Session]
	a.mu.Unlock()
	if n > 1 { // the program must not remember an earlier conversation of the session
		tab = fmt.Sprintf("%s/%d", tab, n)
	}
	c := &conversation{agent: a, sink: sink, tab: tab, id: rand.Text()}
	c.LimitedConversation = agent.LimitedConversation{Name: a.Name, Usable: c.usable}
	c.reportMissing(o)
	return c, nil
}

// Forget does nothing: nothing is saved.
func (a *Agent) Forget(ctx context.Context, _ string) error { return a.Alive(ctx) }

// Models returns one model, with the name of the program.
func (a *Agent) Models(ctx context.Context) ([]agent.Model, error) {
	return []agent.Model{a.model}, a.Alive(ctx)
}

// Ping waits for a sign of life if one is overdue: an answer, or the reading of a request. Otherwise it returns at
// once.
func (a *Agent) Ping(ctx context.Context) error { return a.link.ping(ctx) }

// Memory returns the memory of the program without its children.
func (a *Agent) Memory() int64 { return a.link.Program.Memory() }

// Done returns a channel that is closed when the program and its children have ended.
func (a *Agent) Done() <-chan struct{} { return a.link.done }

// Exit describes how the program ended; see [agent.Agent].
func (a *Agent) Exit() string { return a.link.Program.Exit() }

// Stop ends the program: an exit notification, the end of its input, SIGTERM, and SIGKILL when ctx is done.
func (a *Agent) Stop(ctx context.Context) { a.client.Close(ctx) }

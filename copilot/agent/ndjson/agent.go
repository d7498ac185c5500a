// Package ndjson drives any program that speaks the Copilot CLI Protocol: JSON-RPC 2.0 on its standard streams, one
// message per line. Its prompts are chats. spec/cli.md describes what the protocol leaves open.
package ndjson

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
)

// Agent is a running program, as an [agent.Agent].
type Agent struct {
	agent.Limited

	link  *link
	model agent.Model

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

// chat sends a message of a tab. Chunk gets the pieces of the answer; failed is that of [call]. After a cancelled message, the next one of the
// same tab waits until that one is answered or timed out, because the protocol has no method to cancel.
func (a *Agent) chat(
	ctx context.Context, tab, text string, chunk func(attempt int, text string), failed func(int, error, bool, time.Duration),
) (r chatResult, err error) {
	params := chatParams{text, chatContext{TabID: tab}}
	err = call{method: chat, over: a.link.Over(), failed: failed, attempt: func(n int) error {
		return a.link.call(ctx, &request{method: chat, params: params, tab: tab, chunk: func(text string) { chunk(n, text) }}, &r)
	}}.perform(ctx)
	return r, err
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
func (a *Agent) Stop(ctx context.Context) { a.link.stop(ctx) }

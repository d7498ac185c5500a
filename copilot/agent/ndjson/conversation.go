package ndjson

import (
	"context"
	"sync"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// conversation is an [agent.Conversation]: one tab of the program.
type conversation struct {
	agent.LimitedConversation

	agent *Agent
	tab   string
	id    string // prefix of the ids of its events
	work  sync.WaitGroup

	mu     sync.Mutex // held during the sink, so that no event follows Close
	sink   agent.Sink
	closed bool
	turn   *turn           // nil while idle
	prior  <-chan struct{} // closed when the last prompt is done
	count  int             // number of prompts
}

// reportMissing reports what the opening requested in vain.
func (c *conversation) reportMissing(o agent.Opening) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Resume {
		c.sink("", event.SessionError{
			Kind: fault.Unavailable,
			Text: "this agent does not save conversations: it starts anew and does not know the earlier conversation",
		})
	}
	if o.Model != "" && o.Model != c.agent.model.ID { // the session used another agent before
		c.sink("", event.ModelChanged{Model: c.agent.model.ID})
	}
	if len(o.Servers) > 0 {
		c.sink("", event.SessionError{
			Kind: fault.Invalid, Text: "this agent, which speaks the Copilot CLI Protocol, cannot use the MCP servers that the client passed",
			Hint: "Configure them in the agent itself.",
		})
	}
	for _, q := range o.Pending {
		c.sink("", event.QuestionClosed{ID: q.ID, Ending: event.Withdrawn})
	}
	if len(o.Pending) > 0 {
		c.sink("", event.Idle{Aborted: true})
	}
}

// usable returns the error of calls after the end.
func (c *conversation) usable(ctx context.Context) error {
	if err := c.agent.Alive(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errOver
	}
	return nil
}

var errOver = fault.Errorf(fault.NotFound, "the conversation is closed")

// Send sends a prompt to the program. A steering prompt fails as a late one, so that it gets its own run.
func (c *conversation) Send(ctx context.Context, p event.Prompt) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	if p.Steer {
		return fault.ErrIdle
	}
	text, err := c.agent.message(p)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return errOver
	case c.turn != nil:
		return fault.Errorf(fault.Busy, "the agent received a prompt while it was not idle")
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	c.count++
	t := &turn{conversation: c, number: c.count, cancel: cancel}
	prior, done := c.prior, make(chan struct{})
	c.turn, c.prior = t, done
	c.work.Go(func() {
		defer close(done)
		defer cancel()
		if prior != nil {
			<-prior // it was aborted and ends soon
		}
		t.perform(ctx, text)
	})
	return nil
}

// Abort ignores the answer to the prompt, because the protocol has no method to cancel.
func (c *conversation) Abort(ctx context.Context) error {
	if err := c.agent.Alive(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != nil {
		c.turn.cancel()
		c.turn.end(event.Idle{Aborted: true})
	}
	return nil
}

// Answer does nothing: there are no questions.
func (c *conversation) Answer(ctx context.Context, _ event.Question, _ event.Answer) error {
	return c.agent.Alive(ctx)
}

// SetModel accepts only the agent's model.
func (c *conversation) SetModel(ctx context.Context, model string) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	if model != c.agent.model.ID {
		return fault.Errorf(fault.Invalid, "%w: %q", fault.ErrModelNotFound, model)
	}
	return nil
}

// Extensions returns none.
func (c *conversation) Extensions(ctx context.Context) (agent.Extensions, error) {
	return agent.Extensions{}, c.usable(ctx)
}

// Working reports whether a prompt has no answer yet.
func (c *conversation) Working(ctx context.Context) (bool, error) {
	if err := c.usable(ctx); err != nil {
		return false, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn != nil, nil
}

// Close stops the events.
func (c *conversation) Close(context.Context) error {
	c.mu.Lock()
	c.closed = true
	if c.turn != nil {
		c.turn.cancel()
		c.turn = nil
	}
	c.mu.Unlock()
	c.work.Wait()
	return nil
}

package fake

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// conversation is a [agent.Conversation].
type conversation struct {
	process *process
	opening agent.Opening
	sink    agent.Sink

	mu        sync.Mutex // held while the sink is called, so that no event follows Close
	muted     bool
	closed    bool
	model     string
	sent      bool                       // the script has not started on the prompt
	turn      *Turn                      // nil while idle
	questions map[string]*scriptQuestion // the open ones
}

func newConversation(p *process, o agent.Opening, sink agent.Sink) *conversation {
	return &conversation{
		process: p, opening: o, sink: sink, model: o.Model,
		questions: map[string]*scriptQuestion{},
	}
}

func (c *conversation) emit(agent string, bodies []event.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range bodies {
		c.emitLocked(agent, b)
	}
}

// emitLocked is emit with the lock held.
func (c *conversation) emitLocked(agent string, b event.Body) {
	if !c.muted && !c.process.isDead() {
		c.sink(agent, b)
	}
}

// emitUnasked is emit, except that it drops Idle after a prompt was sent, for which it would be mistaken.
func (c *conversation) emitUnasked(bodies []event.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, b := range bodies {
		if _, idle := b.(event.Idle); idle && (c.sent || c.turn != nil) {
			continue
		}
		c.emitLocked("", b)
	}
}

func (c *conversation) setSent(sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = sent
}

// mute stops the events and the current work, unless that can continue in another process.
func (c *conversation) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.muted = true
	if !c.process.isDead() {
		c.abort()
	}
}

func (c *conversation) call(ctx context.Context, call Call) error {
	call.Session, call.conversation = c.opening.Session, c
	err := c.process.call(ctx, call)
	switch {
	case c.process.isDead():
		return errBroken
	case err == nil && c.isClosed():
		return fmt.Errorf("there is no conversation %s", c.opening.Session)
	}
	return err
}

// errBroken is the error of calls on a conversation whose process has died. It does not name the cause, as
// with the real agent.
var errBroken = errors.New("the connection to the agent is broken")

func (c *conversation) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// Send starts the script of a prompt, or passes a steering prompt to the running script. It fails if another
// prompt is in progress.
func (c *conversation) Send(ctx context.Context, p event.Prompt) error {
	call := Call{Method: Send, Prompt: p.Text, Steer: p.Steer, Mode: p.Mode, Attachments: p.Attachments}
	if p.Steer {
		return c.steer(ctx, call)
	}
	c.setSent(true)
	if err := c.call(ctx, call); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != nil {
		return fault.Errorf(fault.Internal, "the agent was given a prompt while it was not idle")
	}
	return c.begin(p)
}

// steer fails after the script has returned, because Idle was already sent.
func (c *conversation) steer(ctx context.Context, call Call) error {
	if err := c.call(ctx, call); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil {
		return fault.ErrIdle
	}
	c.turn.steers = append(c.turn.steers, call.Prompt)
	return nil
}

// begin starts the script. The caller must hold the lock.
func (c *conversation) begin(p event.Prompt) error {
	t := &Turn{
		Prompt: p.Text, Mode: p.Mode, Attachments: p.Attachments, Opening: c.opening, Model: c.model,
		aborted: make(chan struct{}), over: make(chan struct{}),
	}
	t.conversation.Store(c)
	t.Past = c.process.agents.save(c.opening.Session, p.Text)
	c.turn, c.sent = t, false
	if !c.process.start(func() { t.waitForEnd(c) }) {
		return errGone()
	}
	c.process.agents.hold(t)
	c.process.agents.work.Go(t.perform)
	return nil
}

// Compact reports a compaction from 1,000 to 100 tokens. Before the first prompt there is nothing to compact.
func (c *conversation) Compact(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.emit("", []event.Body{event.CompactionStarted{Used: 1000}})
	err := c.call(ctx, Call{Method: Compact})
	if err == nil && c.process.agents.isNew(c.opening.Session) {
		err = fault.ErrNothingToCompact
	}
	if err != nil {
		c.emit("", []event.Body{event.CompactionEnded{Error: err.Error()}})
		return err
	}
	c.emit("", []event.Body{event.CompactionEnded{Before: 1000, After: 100, Summary: "what was said"}})
	return nil
}

// SignIn returns a page and reports that the server is connected.
func (c *conversation) SignIn(ctx context.Context, server string) (string, error) {
	if err := c.call(ctx, Call{Method: SignIn, Server: server}); err != nil {
		return "", err
	}
	c.emit("", []event.Body{event.ServerChanged{Server: event.Server{Name: server, State: event.ServerConnected}}})
	return "https://example.com/" + server, nil
}

// Extensions returns those of [Agents], with the servers that were added, which are connected.
func (c *conversation) Extensions(ctx context.Context) (agent.Extensions, error) {
	x := c.process.agents.extensions(event.ServerConnected)
	for _, s := range c.opening.Servers {
		x.Servers = slices.DeleteFunc(x.Servers, func(stored event.Server) bool { return stored.Name == s.Name })
		x.Servers = append(x.Servers, event.Server{Name: s.Name, State: event.ServerConnected})
	}
	return x, c.call(ctx, Call{Method: Extensions})
}

// Abort asks the script to stop.
func (c *conversation) Abort(ctx context.Context) error {
	c.setSent(false)
	if err := c.call(ctx, Call{Method: Abort}); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort()
	return nil
}

// abort is Abort with the lock held.
func (c *conversation) abort() {
	if c.turn == nil || c.turn.isAborted() {
		return
	}
	c.withdraw()
	close(c.turn.aborted)
}

// withdraw withdraws all questions. The caller must hold the lock.
func (c *conversation) withdraw() {
	for id, i := range c.questions {
		delete(c.questions, id)
		close(i.over)
		c.emitLocked("", event.QuestionClosed{ID: id, Ending: event.Withdrawn})
	}
}

// Answer passes the answer to the script.
func (c *conversation) Answer(ctx context.Context, q event.Question, a event.Answer) error {
	if err := c.call(ctx, Call{Method: Answer, Question: q, Answer: a}); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	i, open := c.questions[q.ID]
	if !open {
		return nil
	}
	delete(c.questions, q.ID)
	i.answer <- a
	c.emitLocked("", event.QuestionClosed{ID: q.ID, Ending: event.Withdrawn})
	return nil
}

// SetModel changes [Turn.Model] of the following prompts. The model must be one of [Agents.Models].
func (c *conversation) SetModel(ctx context.Context, model string) error {
	if err := c.call(ctx, Call{Method: SetModel, Model: model}); err != nil {
		return err
	}
	if !slices.ContainsFunc(c.process.agents.Models, func(m agent.Model) bool { return m.ID == model }) {
		return fmt.Errorf("the model %q is not registered", model)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.model = model
	c.emitLocked("", event.ModelChanged{Model: model})
	return nil
}

// Close stops the events first, even if the call fails.
func (c *conversation) Close(ctx context.Context) error {
	c.mute()
	c.process.closed(c)
	defer c.setClosed()
	if c.isClosed() {
		return nil
	}
	c.process.agents.addHeld(-1)
	return c.call(ctx, Call{Method: Close})
}

func (c *conversation) setClosed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
}

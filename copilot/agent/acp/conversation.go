package acp

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// conversation is an [agent.Conversation]: a session of the agent.
type conversation struct {
	agent.LimitedConversation

	agent     *Agent
	directory string
	prefix    string // of the ids of its events
	servers   []acp.Server
	tools     clientTools

	mu        sync.Mutex // held during the sink, so that no event follows Close
	sink      agent.Sink
	id        string // the agent's
	closed    bool
	model     string
	settings  settings
	turn      *turn // nil while idle
	questions map[string]*openQuestion
	count     int // of ids

	needsReload bool      // the agent does not serve the session any more
	lateUntil   time.Time // until then the agent may still act on the cancellation of the turn before
	departures  int       // how often the agent has left the safe mode
}

// open creates a session of the agent, or resumes the saved one.
func (c *conversation) open(ctx context.Context, o agent.Opening) (resumed bool, err error) {
	c.questions = map[string]*openQuestion{}
	if err := c.agent.driver.preset.checkDirectory(c.directory); err != nil {
		return false, err
	}
	if o.Resume {
		if resumed, err = c.resume(ctx, o.Session); err != nil {
			return false, err
		}
	}
	if !resumed {
		if err := c.agent.call(ctx, "session/new", c.params(""), &c.settings); err != nil {
			return false, err
		}
		c.id = c.settings.SessionID
	}
	if err := c.prepare(ctx, o.Session); err != nil {
		c.free()
		return false, err
	}
	return resumed, nil
}

// params returns the parameters that open a session of the agent; id is empty for a new one.
func (c *conversation) params(id string) sessionParams {
	return sessionParams{SessionID: id, Directory: c.directory, Servers: c.servers, Meta: c.agent.driver.preset.meta}
}

// prepare makes an open session of the agent usable.
func (c *conversation) prepare(ctx context.Context, session string) error {
	if c.id == "" || c.agent.conversation(c.id) != nil {
		return fault.Errorf(fault.Unavailable, "the agent %s gave the session the id %q, which is empty or taken", c.agent.Name, c.id)
	}
	if err := c.agent.driver.saved.keep(session, c.id); err != nil {
		return fault.Errorf(fault.Unavailable, "the conversation could not be stored: %w", err)
	}
	c.agent.driver.learnModels(c.settings)
	if err := c.ensureMode(ctx, &c.settings); err != nil {
		return err
	}
	c.register()
	return nil
}

// free frees what the agent holds of the session in memory, if it can.
func (c *conversation) free() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if c.id != "" && c.agent.canClose() {
		_ = c.agent.closeSession(ctx, c.id) // the session is not used any more
	}
}

// resume resumes the saved session of the agent; false if there is none.
func (c *conversation) resume(ctx context.Context, session string) (resumed bool, err error) {
	id, err := c.agent.driver.saved.find(session)
	if err != nil || id == "" {
		return false, err
	}
	c.settings, resumed, err = c.load(ctx, id)
	if resumed {
		c.id = id
	}
	return resumed, err
}

// load closes a session of the agent if it is open, and loads it; false if the agent does not have it.
func (c *conversation) load(ctx context.Context, id string) (s settings, loaded bool, err error) {
	method, can := "session/load", c.agent.info.Capabilities
	switch {
	case can.Session.Resume != nil:
		method = "session/resume"
	case !can.LoadSession:
		return s, false, nil
	}
	if c.agent.release(id, nil) && c.agent.canClose() { // some agents do not load what is open
		if err := c.agent.closeSession(ctx, id); err != nil {
			return s, false, err
		}
	}
	err = c.agent.link.Peer.Call(ctx, method, c.params(id), &s)
	if isNotFound(err) {
		c.agent.driver.options.Log.Info("an agent does not have a conversation any more", "id", id, "err", err)
		return s, false, nil
	}
	return s, err == nil, c.agent.explain(err)
}

// reload loads the session again if the agent has stopped serving it.
func (c *conversation) reload(ctx context.Context) error {
	c.mu.Lock()
	needed, model := c.needsReload, c.model
	c.mu.Unlock()
	if !needed {
		return nil
	}
	if err := c.agent.driver.preset.checkDirectory(c.directory); err != nil {
		return err
	}
	s, loaded, err := c.load(ctx, c.id)
	if err == nil && !loaded {
		c.agent.link.Program.Kill() // the session is opened again, and says what is lost
		return stdio.ErrGone
	}
	if err == nil {
		err = c.ensureMode(ctx, &s)
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.settings, c.needsReload = s, false
	c.mu.Unlock()
	c.register()
	return c.SetModel(ctx, model)
}

// register makes the updates of the agent's session go to this conversation.
func (c *conversation) register() {
	c.agent.mu.Lock()
	defer c.agent.mu.Unlock()
	c.agent.conversations[c.id] = c
}

// release makes the updates of a session go nowhere, if they go to c, or to any conversation for nil, and reports whether they did.
func (a *Agent) release(id string, c *conversation) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	current := a.conversations[id]
	if current == nil || c != nil && c != current {
		return false
	}
	delete(a.conversations, id)
	return true
}

// reportLosses reports what could not be resumed, and the servers that cannot be used.
func (c *conversation) reportLosses(o agent.Opening, resumed bool, others []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if o.Resume && !resumed {
		c.emit(event.SessionError{
			Kind: fault.Unavailable,
			Text: fmt.Sprintf("the agent %s does not have the conversation any more: it starts anew and does not know the earlier one", c.agent.Name),
		})
	}
	c.reportServers(others)
	for _, q := range o.Pending {
		c.emit(event.QuestionClosed{ID: q.ID, Ending: event.Withdrawn})
	}
	if len(o.Pending) > 0 {
		c.emit(event.Idle{Aborted: true})
	}
}

// emit sends an event, unless the conversation is closed or the program has ended. The caller must hold the lock.
func (c *conversation) emit(b event.Body) {
	if !c.closed {
		c.sink("", b)
	}
}

func (c *conversation) fail(e event.SessionError) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emit(e)
}

// nextID returns an unused id of an event. The caller must hold the lock.
func (c *conversation) nextID() string {
	c.count++
	return fmt.Sprintf("%s-%d", c.prefix, c.count)
}

// usable returns the error of calls after the end.
func (c *conversation) usable(ctx context.Context) error {
	if err := c.agent.Alive(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	return nil
}

var errClosed = fault.Errorf(fault.NotFound, "the conversation is closed")

// Abort makes the agent end the turn. Its answer to the prompt follows.
func (c *conversation) Abort(ctx context.Context) error {
	if err := c.agent.Alive(ctx); err != nil {
		return err
	}
	c.mu.Lock()
	t := c.turn
	if t != nil && !t.isAborted() {
		close(t.abort)
		c.withdrawQuestions()
	}
	c.mu.Unlock()
	if t == nil {
		return nil
	}
	return c.cancel(ctx)
}

// SetModel changes the model with the agent's option for it.
func (c *conversation) SetModel(ctx context.Context, model string) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	value, err := c.agent.modelValue(model)
	if err != nil {
		return err
	}
	c.mu.Lock()
	o, known := c.settings.option("model")
	c.mu.Unlock()
	switch {
	case value == agent.DefaultModel, known && o.current() == value:
		c.setModel(model, o.current())
		return nil
	case !slices.ContainsFunc(o.values(), func(v configValue) bool { return v.Value == value }):
		return fault.Errorf(fault.Invalid, "%w: %q", fault.ErrModelNotFound, model)
	}
	if err := c.agent.call(ctx, "session/set_config_option", setOptionParams{c.id, o.ID, value}, nil); err != nil {
		return err
	}
	c.setModel(model, value)
	return nil
}

// setModel records the model that the agent uses from now on.
func (c *conversation) setModel(model, value string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.settings.Options {
		if c.settings.Options[i].Category == "model" {
			c.settings.Options[i].Current = value
		}
	}
	if c.model != "" && c.model != model {
		c.emit(event.ModelChanged{Model: model})
	}
	c.model = model
}

// Working reports whether a prompt has no answer yet.
func (c *conversation) Working(ctx context.Context) (bool, error) {
	if err := c.usable(ctx); err != nil {
		return false, err
	}
	return c.isWorking(), nil
}

func (c *conversation) isWorking() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.turn != nil
}

// closeTimeout is how long a turn may take to end when its conversation is closed, and then the agent to close its session. It allows for
// a turn that is not cancelled at once.
const closeTimeout = 5 * time.Second

// Close stops the events, ends the turn and frees what the agent holds in memory.
func (c *conversation) Close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	err := c.Abort(ctx)
	c.mu.Lock()
	c.withdrawQuestions()
	c.closed = true
	t := c.turn
	c.mu.Unlock()
	if t != nil && err == nil {
		select {
		case <-t.done:
		case <-c.agent.link.Over():
		case <-ctx.Done():
		}
	}
	if c.agent.release(c.id, c) && c.agent.Alive(context.WithoutCancel(ctx)) == nil {
		c.free()
	}
	return err
}

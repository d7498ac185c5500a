package acp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// turn is the work on a prompt. The lock of its conversation guards it.
type turn struct {
	id      string
	abort   chan struct{} // closed when aborted
	stopped bool          // it was aborted because of an error, which is reported
	done    chan struct{} // closed when the agent has answered
	worked  bool          // the agent has begun to answer
	text    openText
	calls   []*toolCall // that have not ended
	ended   []string    // calls
	granted []string    // files that the user allowed to write

	clientCalls []string     // ids of open calls of client tools
	announced   []*announced // calls of client tools
}

func (t *turn) isAborted() bool { return agent.IsClosed(t.abort) }

// activeTurn returns the turn of a prompt that still needs work, or nil. The caller must hold the lock.
func (c *conversation) activeTurn() *turn {
	if c.turn == nil || c.turn.isAborted() || c.closed {
		return nil
	}
	return c.turn
}

// openText is the message or the thought that grows.
type openText struct {
	id      string // "" if there is none
	message string // the agent's id of the message
	thought bool
	text    strings.Builder
}

// Send sends a prompt to the agent. A steering prompt fails as a late one, so that it gets its own run.
func (c *conversation) Send(ctx context.Context, p event.Prompt) error {
	if err := c.usable(ctx); err != nil {
		return err
	}
	if p.Steer {
		return fault.ErrIdle
	}
	if p.Mode != "" && p.Mode != event.ModeInteractive {
		return c.agent.Cannot(agent.Modes.Operation())
	}
	blocks, err := c.agent.blocks(p)
	if err != nil {
		return err
	}
	if err := c.reload(ctx); err != nil {
		return err
	}
	if err := c.returnToMode(ctx); err != nil {
		return err
	}
	if err := c.tools.await(ctx); err != nil {
		return err
	}
	t, err := c.beginTurn()
	if err != nil {
		return err
	}
	pending, err := c.agent.link.Peer.Begin(ctx, c, "session/prompt", acp.PromptParams{SessionID: c.id, Prompt: blocks})
	if err != nil {
		c.dropTurn(t)
		return c.agent.explain(err)
	}
	if !c.agent.start(func() { c.perform(t, pending, blocks) }) {
		c.dropTurn(t)
		return stdio.ErrGone
	}
	return nil
}

// perform waits for the answer to a prompt and ends the turn.
func (c *conversation) perform(t *turn, pending *jsonrpc.PendingCall, blocks []acp.Content) {
	answered := make(chan struct{})
	var insisting sync.WaitGroup
	insisting.Go(func() { c.insistOnCancel(t, answered) })
	r, err := c.awaitAnswer(t, pending, blocks)
	close(answered)
	insisting.Wait()
	c.endTurn(t, r, c.agent.explain(err))
}

// awaitAnswer waits for the answer to a prompt. It sends the prompt again while the agent takes a cancellation of the turn before for one of
// this turn.
func (c *conversation) awaitAnswer(t *turn, pending *jsonrpc.PendingCall, blocks []acp.Content) (r acp.PromptResult, err error) {
	for {
		r = acp.PromptResult{}
		err = pending.Await(context.Background(), &r)
		if err != nil || r.StopReason != stopCancelled || !c.isLateCancel(t) {
			return r, err
		}
		select {
		case <-time.After(cancelAgain):
		case <-t.abort:
			return r, nil
		case <-c.agent.link.Over():
		}
		if pending, err = c.agent.link.Peer.Begin(context.Background(), c, "session/prompt", acp.PromptParams{SessionID: c.id, Prompt: blocks}); err != nil {
			return r, err
		}
	}
}

// lateTime is how long after an aborted turn the agent may act on the cancellation again. A busy one needs some seconds.
const lateTime = 10 * time.Second

// isLateCancel reports whether the agent has cancelled a turn because of a cancellation of the turn before. Some act on one, or on its
// repetition, only after they have answered the prompt that it was meant for, and also on prompts that follow.
func (c *conversation) isLateCancel(t *turn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.lateUntil) && !t.isAborted() && !t.worked
}

// An agent is told to cancel again after cancelAgain: some ignore it while they prepare the prompt. The Copilot CLI may even ignore it from
// then on, so after maxCancels its session is closed.
const (
	cancelAgain = 500 * time.Millisecond
	maxCancels  = 4
)

// insistOnCancel makes an aborted turn end. It returns when the prompt is answered, or the turn has ended.
func (c *conversation) insistOnCancel(t *turn, answered <-chan struct{}) {
	select {
	case <-t.abort:
	case <-answered:
		return
	}
	for range maxCancels {
		select {
		case <-time.After(cancelAgain):
			_ = c.cancel(context.Background()) // the turn ends with the connection
		case <-answered:
			return
		}
	}
	c.forceEnd(t)
}

// forceTimeout is how long an agent may take to close a session that it has not cancelled. A busy one needs some seconds; killing it
// interrupts all its sessions.
const forceTimeout = 20 * time.Second

// forceEnd ends a turn that the agent does not cancel by closing its session, which the next prompt loads again. An agent that cannot close
// sessions is killed: what the user has cancelled must not go on.
func (c *conversation) forceEnd(t *turn) {
	ctx, cancel := context.WithTimeout(context.Background(), forceTimeout)
	defer cancel()
	c.agent.driver.options.Log.Warn("the agent does not cancel a prompt, so its session is closed")
	if !c.agent.release(c.id, c) {
		return // it is served to another conversation
	}
	if !c.agent.canClose() || c.agent.closeSession(ctx, c.id) != nil {
		c.agent.link.Program.Kill()
		return
	}
	c.mu.Lock()
	c.needsReload = true
	c.mu.Unlock()
	c.endTurn(t, acp.PromptResult{}, nil)
}

// cancel tells the agent to end the turn.
func (c *conversation) cancel(ctx context.Context) error {
	return c.agent.explain(c.agent.link.Peer.Notify(ctx, "session/cancel", sessionID{c.id}))
}

func (c *conversation) beginTurn() (*turn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, errClosed
	case c.turn != nil:
		return nil, fault.Errorf(fault.Busy, "the agent received a prompt while it was not idle")
	}
	c.turn = &turn{id: c.nextID(), abort: make(chan struct{}), done: make(chan struct{})}
	c.emit(event.TurnStarted{ID: c.turn.id})
	return c.turn, nil
}

// dropTurn ends a turn whose prompt was not sent.
func (c *conversation) dropTurn(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.emit(event.TurnEnded{ID: t.id})
	c.turn = nil
	close(t.done)
}

// endTurn ends a turn with the answer to its prompt. After the end of the program no events follow.
func (c *conversation) endTurn(t *turn, r acp.PromptResult, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != t {
		return // it has ended
	}
	c.turn, c.lateUntil = nil, time.Time{}
	if t.isAborted() {
		c.lateUntil = time.Now().Add(lateTime)
	}
	defer close(t.done)
	if err == stdio.ErrGone { //nolint:errorlint // explain returns it
		c.closed = true
		c.withdrawQuestions()
		return
	}
	c.endText(t)
	c.withdrawQuestions()
	if !t.isAborted() {
		c.needsReload = c.needsReload || r.StopReason == stopCancelled && c.agent.canLoad() // some agents do not answer any more after they have cancelled by themselves
		c.endCalls(t)
		if failure := failureOf(r, err); failure != nil {
			c.emit(*failure)
		}
	}
	if t.stopped {
		c.endCalls(t)
	}
	c.emit(event.TurnEnded{ID: t.id})
	c.emit(event.Idle{Aborted: t.isAborted() && !t.stopped})
}

// failureOf returns why a turn did not end by itself, or nil.
func failureOf(r acp.PromptResult, err error) *event.SessionError {
	if err != nil {
		e := event.NewSessionError(err)
		return &e
	}
	switch r.StopReason {
	case stopCancelled:
		return &event.SessionError{Kind: fault.Unavailable, Text: "the agent cancelled the prompt by itself", Hint: "Send it again."}
	case stopTokens:
		return &event.SessionError{Kind: fault.Unavailable, Text: "the answer is cut off: it reached the maximum number of tokens"}
	case stopRequests:
		return &event.SessionError{Kind: fault.Unavailable, Text: "the agent stopped: it reached the maximum number of requests to the model"}
	case stopRefusal:
		return &event.SessionError{Kind: fault.Denied, Text: "the agent refused the prompt and forgot it"}
	}
	return nil
}

// update translates an update of the agent.
func (c *conversation) update(raw json.RawMessage) error {
	u, err := decode[update](raw)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch u.Kind {
	case "usage_update":
		c.emit(event.UsageChanged{Used: u.Used, Limit: u.Size})
	case "session_info_update":
		if u.Title != nil && *u.Title != "" {
			c.emit(event.TitleChanged{Title: *u.Title})
		}
	case "config_option_update", "current_mode_update":
		c.settingsChanged(u)
	case "plan":
		c.emit(event.PlanChanged{Todos: todos(u.Entries)})
	case "available_commands_update", "user_message_chunk":
	case "agent_message_chunk", "agent_thought_chunk", "tool_call", "tool_call_update":
		if c.turn == nil {
			return nil // it belongs to a prompt that has ended
		}
		return c.translateWork(u, raw)
	default:
		c.emit(event.Notice{Kind: "acp." + u.Kind, Raw: raw})
	}
	return nil
}

// translateWork translates an update of the work on the prompt. The caller must hold the lock.
func (c *conversation) translateWork(u update, raw json.RawMessage) error {
	c.turn.worked = true
	if strings.HasPrefix(u.Kind, "tool_call") {
		call, err := decode[toolUpdate](raw)
		if err != nil {
			return err
		}
		if c.announce(call) != nil {
			return nil
		}
		c.endText(c.turn)
		c.callChanged(c.turn, call)
		return nil
	}
	block, err := decode[acp.Content](u.Content)
	if err != nil {
		return err
	}
	c.startCalls(c.turn)
	c.addText(c.turn, u.Kind == "agent_thought_chunk", u.MessageID, markdown(block))
	return nil
}

// addText continues the open text, or starts another. The caller must hold the lock.
func (c *conversation) addText(t *turn, thought bool, message, text string) {
	if text == "" {
		return
	}
	open := &t.text
	if open.id != "" && (open.thought != thought || open.message != message) {
		c.endText(t)
	}
	if open.id == "" {
		*open = openText{id: c.nextID(), message: message, thought: thought}
		if thought {
			c.emit(event.ReasoningStarted{ID: open.id})
		} else {
			c.emit(event.MessageStarted{ID: open.id})
		}
	}
	open.text.WriteString(text)
	if thought {
		c.emit(event.ReasoningDelta{ID: open.id, Text: text})
	} else {
		c.emit(event.MessageDelta{ID: open.id, Text: text})
	}
}

// endText ends the open text. The caller must hold the lock.
func (c *conversation) endText(t *turn) {
	switch open := &t.text; {
	case open.id == "":
		return
	case open.thought:
		c.emit(event.ReasoningEnded{ID: open.id, Text: open.text.String()})
	default:
		c.emit(event.MessageEnded{ID: open.id, Text: open.text.String()})
	}
	t.text = openText{}
}

// settingsChanged records a change of the session's options or of its mode. The caller must hold the lock.
func (c *conversation) settingsChanged(u update) {
	if u.Kind == "current_mode_update" {
		c.settings.setMode(u.Mode)
	} else {
		c.optionsChanged(u.Options)
	}
	c.modeChanged()
}

// optionsChanged records the state of the session's options. The caller must hold the lock.
func (c *conversation) optionsChanged(options []configOption) {
	c.settings.Options = options
	o, known := c.settings.option("model")
	if model := c.agent.driver.modelID(o.current()); known && model != c.model && c.model != "" {
		c.model = model
		c.emit(event.ModelChanged{Model: model})
	}
}

// todos converts the agent's plan. Its entries have no ids: their places are.
func todos(entries []acp.PlanEntry) []event.Todo {
	list := make([]event.Todo, 0, len(entries))
	for i, e := range entries {
		state := event.TodoPending
		switch e.Status {
		case "in_progress":
			state = event.TodoRunning
		case "completed":
			state = event.TodoCompleted
		}
		list = append(list, event.Todo{ID: fmt.Sprint(i + 1), Title: e.Content, State: state})
	}
	return list
}

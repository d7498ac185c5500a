package sdk

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// conversation is a session of the CLI; it is an [agent.Conversation].
type conversation struct {
	agent     *Agent
	session   *vendor.Session // valid once opened is closed
	opened    chan struct{}
	translate translator // used only on the SDK's event goroutine
	sink      agent.Sink
	models    []entry // as sent to the CLI

	files *openFiles     // nil if clients have none
	work  sync.WaitGroup // readers of the plan, and ends of refused calls

	mu        sync.Mutex
	closed    bool
	prompt    progress
	steers    int  // prompts sent meanwhile that the CLI has not read
	answering bool // the model was called since the CLI was last idle
	model     string
	plan      plan
	parked    map[question][]chan struct{} // waiting handlers, by their questions
	questions map[string]string            // open questions, and the sub-agents that asked them
	compacted chan struct{}                // closed when the end of a compaction is reported; nil if nobody waits for it
	pending   pendingQuestions
	writing   map[string][]string // files that running calls of tools may write, by call
}

// progress is the progress of a prompt. The CLI also works on its own, when a background command has ended,
// and then reports idle as well. So only one idle event counts for each prompt.
type progress int

const (
	none  progress = iota // no prompt, or the CLI is idle after it
	sent                  // sent to the CLI, which has not started on it
	begun                 // the CLI is working on it
)

func newConversation(a *Agent, o agent.Opening, models []entry, sink agent.Sink) *conversation {
	c := &conversation{
		agent: a, opened: make(chan struct{}), sink: sink, models: models, model: o.Model,
		parked: map[question][]chan struct{}{}, questions: map[string]string{}, translate: newTranslator(o.Directory, o.Tools),
		writing: map[string][]string{},
	}
	if o.Buffer != nil {
		c.files = newOpenFiles(o)
	}
	c.resumePending(o.Pending)
	return c
}

// event handles an event of the CLI. It runs on a goroutine of the SDK and must not block: 128 unread events
// of one session stop all sessions of the process.
func (c *conversation) event(e vendor.SessionEvent) {
	c.agent.ack.soon() // the CLI may hold back the rest until then
	c.agent.recordActivity()
	c.mu.Lock()
	defer c.mu.Unlock() // held while the sink is called, so that no event follows Close
	if c.closed {
		return
	}
	agent := text(e.AgentID)
	if agent == "" {
		c.follow(e.Data)
	}
	if _, changed := e.Data.(*rpc.SessionTodosChangedData); changed {
		c.readPlan()
	}
	for _, b := range c.translate.event(e) {
		c.emit(agent, b)
	}
	if _, ended := e.Data.(*rpc.SessionCompactionCompleteData); ended && c.compacted != nil {
		close(c.compacted)
		c.compacted = nil
	}
}

// isUserMessage distinguishes prompts from messages that the CLI sends to itself: to continue in autopilot mode, for
// a skill, between agents.
func isUserMessage(d *rpc.UserMessageData) bool {
	again := d.IsAutopilotContinuation != nil && *d.IsAutopilotContinuation
	return !again && (d.Source == nil || *d.Source == "" || *d.Source == "user")
}

// follow tracks the progress of the main agent. The caller must hold the lock.
func (c *conversation) follow(data vendor.SessionEventData) {
	switch d := data.(type) {
	case *rpc.UserMessageData:
		if isUserMessage(d) {
			c.read()
		}
	case *rpc.AssistantTurnStartData:
		c.answering = true
	case *rpc.SessionErrorData:
		if c.prompt == sent && !c.answering { // it failed before the CLI started on it
			c.prompt = begun
		}
	}
}

// read counts a prompt that the CLI starts on. The caller must hold the lock.
func (c *conversation) read() {
	switch {
	case c.prompt == sent:
		c.prompt = begun
	case c.steers > 0:
		c.steers--
	}
}

// emit sends an event to the session. The caller must hold the lock.
func (c *conversation) emit(agent string, b event.Body) {
	c.trackFiles(b)
	switch m := b.(type) {
	case event.ModelChanged:
		b = event.ModelChanged{Model: portalModel(c.models, m.Model)}
	case event.ModelCalled:
		m.Model = calledModel(c.models, c.model, m.Model)
		b = m
	case event.SessionError:
		m.Hint = c.hint(m.Kind)
		b = m
	case event.PlanChanged:
		c.plan.text = m.Text
		b = c.plan.whole()
	case event.ToolStarted:
		if c.pending.calls[m.ID] {
			return
		}
	case event.QuestionAsked:
		if c.pending.repeats(m.Question) {
			return
		}
		c.questions[m.Question.ID] = agent
	case event.QuestionClosed:
		m.ID = c.pending.sessionID(m.ID)
		if _, open := c.questions[m.ID]; !open {
			return
		}
		delete(c.questions, m.ID)
		delete(c.pending.questions, m.ID)
		b = m
	case event.Idle:
		c.idle(m)
		return
	}
	c.sink(agent, b)
}

// trackFiles follows the calls that write files. The caller must hold the lock.
func (c *conversation) trackFiles(b event.Body) {
	if c.files == nil {
		return
	}
	if refused := c.files.track(b, c.writing); refused != nil {
		c.work.Go(func() { c.files.refused(refused) })
	}
}

// idle ends the prompt, unless the CLI continues with a steering one. The caller must hold the lock.
func (c *conversation) idle(i event.Idle) {
	c.freeHandlers() // an answer can arrive before the handler of its question
	c.answering = false
	if c.prompt != begun || c.steers > 0 && !i.Aborted {
		return
	}
	c.withdraw()
	if !c.plan.hold(i, c.releaseRunEnd) {
		c.sink("", i)
	}
	c.prompt, c.steers = none, 0
}

// withdraw closes the questions that an abort has left open: the CLI reports some of these ends too late and
// others never. The caller must hold the lock.
func (c *conversation) withdraw() {
	for id, agent := range c.questions {
		c.sink(agent, event.QuestionClosed{ID: id, Ending: event.Withdrawn})
	}
	clear(c.questions)
	clear(c.pending.questions)
	clear(c.writing)
}

// hint returns advice for a failure, or "".
func (c *conversation) hint(k fault.Kind) string {
	if k != fault.Unauthenticated {
		return ""
	}
	for _, e := range c.models {
		if e.ID == c.model && e.provider != nil {
			return "Correct the key of the provider `" + e.provider.Name + "` in the configuration, and restart the portal."
		}
	}
	return "Sign in with `" + c.agent.driver.options.Locate.loginCommand() + "`, then try again."
}

// Send sends a prompt to the CLI.
func (c *conversation) Send(ctx context.Context, p event.Prompt) error {
	message := message(p)
	if err := c.count(p, +1); err != nil {
		return err
	}
	err := c.agent.withTimeout(ctx, func() error {
		_, err := c.session.Send(ctx, message)
		return err
	})
	if err != nil {
		_ = c.count(p, -1)
	}
	return err
}

// count tracks the prompts that the CLI has to read.
func (c *conversation) count(p event.Prompt, n int) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case p.Steer && c.prompt == none:
		return fault.ErrIdle
	case p.Steer:
		c.steers = max(c.steers+n, 0)
	case n > 0:
		c.prompt = sent
		if c.files != nil {
			c.files.beginRun()
		}
	case c.prompt == sent: // otherwise an abort would mistake an old idle for its end
		c.prompt = none
	}
	return nil
}

// callGrace is how long a call may exceed its time limit before it is abandoned.
const callGrace = 200 * time.Millisecond

// withTimeout makes a call of the SDK, which ignores its context while it writes to a CLI that does not read.
// Such a call ends with the process. All other calls have ended when withTimeout returns, so that calls reach
// the CLI in order.
func (a *Agent) withTimeout(ctx context.Context, call func() error) error {
	defer a.ack.await()()
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return a.ended(err)
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return a.ended(err)
	case <-time.After(callGrace):
		return ctx.Err()
	}
}

// Abort stops the current work of the CLI. If the CLI has not yet started on the prompt, it will not report
// that it is idle.
func (c *conversation) Abort(ctx context.Context) error {
	c.aborting()
	err := c.agent.withTimeout(ctx, func() error { return c.session.Abort(ctx) })
	c.releaseHandlers()
	return err
}

func (c *conversation) aborting() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.prompt == sent {
		c.prompt = begun
	}
	c.releaseRunEndLocked() // the CLI reports no other end
}

// SetModel changes the model, starting with the next prompt.
func (c *conversation) SetModel(ctx context.Context, model string) error {
	err := c.agent.withTimeout(ctx, func() error { return c.session.SetModel(ctx, vendorModel(c.models, model), nil) })
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.model = model
	}
	return err
}

// reportTime is how long the end of a compaction may arrive after the reply to its call.
const reportTime = 5 * time.Second

// Compact makes the CLI summarize the conversation. The CLI's reply may overtake its event about the end, for which Compact waits: the run
// may end then.
func (c *conversation) Compact(ctx context.Context) error {
	reported := make(chan struct{})
	c.mu.Lock()
	c.compacted = reported
	c.mu.Unlock()
	err := c.compact(ctx)
	if err != nil && !errors.Is(err, fault.ErrNothingToCompact) {
		return err
	}
	select {
	case <-reported:
	case <-ctx.Done():
	case <-time.After(reportTime):
	}
	return err
}

func (c *conversation) compact(ctx context.Context) error {
	err := c.agent.withTimeout(ctx, func() error {
		result, err := c.session.RPC.History.Compact(ctx)
		if err == nil && !result.Success {
			err = errors.New("it could not summarize the conversation")
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		c.abortCompaction(context.WithoutCancel(ctx))
		return ctx.Err()
	case strings.Contains(err.Error(), nothingToCompact):
		return fault.ErrNothingToCompact
	}
	return c.agent.refused(err)
}

// Ask asks the model without a trace in the conversation; measured: a run in parallel takes no longer.
func (c *conversation) Ask(ctx context.Context, question string) (string, error) {
	result, err := query(ctx, c.agent, func() (*rpc.UIEphemeralQueryResult, error) {
		return c.session.RPC.UI.EphemeralQuery(ctx, &rpc.UIEphemeralQueryRequest{Question: question})
	})
	if err != nil {
		return "", c.agent.refused(err)
	}
	return result.Answer, nil
}

// nothingToCompact is the CLI's error for a conversation that has not started.
const nothingToCompact = "Nothing to compact"

// abortCompaction does not wait for long, because the user has given up.
func (c *conversation) abortCompaction(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = c.agent.withTimeout(ctx, func() error { // otherwise it ends by itself
		_, err := c.session.RPC.History.AbortManualCompaction(ctx)
		return err
	})
}

// Close closes the session, which the CLI keeps saved, and ends its commands. It releases the handlers of
// questions last, so that they do not answer for the user.
func (c *conversation) Close(ctx context.Context) error {
	c.detachSink()
	defer c.work.Wait()
	defer c.releaseHandlers()
	return c.agent.withTimeout(ctx, c.session.Disconnect)
}

// detachSink stops events to the sink and drops the reference: the SDK keeps closed sessions as long as the
// process lives.
func (c *conversation) detachSink() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.sink = nil
}

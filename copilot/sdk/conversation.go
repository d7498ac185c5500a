package sdk

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	vendor "github.com/github/copilot-sdk/go"
	"github.com/github/copilot-sdk/go/rpc"

	"github.com/copilot-portal/portal/copilot"
)

// conversation is a session of the CLI; it is a [copilot.Conversation].
type conversation struct {
	agent     *Agent
	session   *vendor.Session // valid once opened is closed
	opened    chan struct{}
	translate translator // used on the SDK's event goroutine only
	sink      copilot.Sink
	models    []entry // as they were told to the CLI

	mu     sync.Mutex
	closed bool
	prompt progress
	parked map[string][]chan struct{} // handlers of ask_user, by question
}

// progress of a prompt. The CLI also works by itself, when a command in the
// background has ended; the end of that is not the end of a prompt. So of the
// CLI's words that it is idle only one counts for each prompt.
type progress int

const (
	none  progress = iota // no prompt, or the CLI is idle after it
	sent                  // given to the CLI, which has not begun with it
	begun                 // the CLI works on it
)

func newConversation(a *Agent, directory string, models []entry, sink copilot.Sink) *conversation {
	return &conversation{
		agent: a, opened: make(chan struct{}), sink: sink, models: models,
		parked: map[string][]chan struct{}{}, translate: newTranslator(directory),
	}
}

// event takes one event of the CLI. It runs on a goroutine of the SDK that must
// not wait: 128 unread events of one session stop all sessions of the process.
func (c *conversation) event(e vendor.SessionEvent) {
	c.agent.heard.Add(1)
	c.mu.Lock()
	defer c.mu.Unlock() // held during the sink, so that Close is a border
	if c.closed {
		return
	}
	agent := text(e.AgentID)
	if _, ok := e.Data.(*rpc.UserMessageData); ok && agent == "" && c.prompt == sent {
		c.prompt = begun
	}
	for _, b := range c.translate.event(e) {
		switch m := b.(type) {
		case copilot.ModelChanged:
			b = copilot.ModelChanged{Model: portalModel(c.models, m.Model)}
		case copilot.Idle:
			c.free() // an answer can be faster than the handler of its question
			if c.prompt != begun {
				continue
			}
			c.prompt = none
		}
		c.sink(agent, b)
	}
}

// Send gives a prompt to the CLI.
func (c *conversation) Send(ctx context.Context, prompt string) error {
	c.mu.Lock()
	c.prompt = sent
	c.mu.Unlock()
	return inTime(ctx, func() error {
		_, err := c.session.Send(ctx, vendor.MessageOptions{Prompt: prompt})
		return err
	})
}

// grace is what a call may take beyond its time before it is left alone.
const grace = 200 * time.Millisecond

// inTime does a call of the SDK, which does not heed its context while it writes
// to a CLI that does not read. Such a call ends with the process. All others
// have ended when inTime returns, so that calls reach the CLI in their order.
func inTime(ctx context.Context, call func() error) error {
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(grace):
		return ctx.Err()
	}
}

// Abort ends what the CLI is doing. It may not have begun with the prompt yet,
// and will not say so then.
func (c *conversation) Abort(ctx context.Context) error {
	c.mu.Lock()
	if c.prompt == sent {
		c.prompt = begun
	}
	c.mu.Unlock()
	err := inTime(ctx, func() error { return c.session.Abort(ctx) })
	c.unparkAll()
	return err
}

// SetModel changes the model from the next prompt on.
func (c *conversation) SetModel(ctx context.Context, model string) error {
	return inTime(ctx, func() error { return c.session.SetModel(ctx, vendorModel(c.models, model), nil) })
}

// Answer brings the answer to a question to the CLI.
func (c *conversation) Answer(ctx context.Context, q copilot.Question, a copilot.Answer) error {
	select {
	case <-c.opened:
	case <-ctx.Done():
		return ctx.Err()
	}
	if q.Kind == copilot.AskInput {
		defer c.unpark(q.Text)
	}
	return inTime(ctx, func() error { return c.answer(ctx, q, a) })
}

func (c *conversation) answer(ctx context.Context, q copilot.Question, a copilot.Answer) error {
	if q.Kind == copilot.AskInput {
		_, err := c.session.RPC.UI.HandlePendingUserInput(ctx, &rpc.UIHandlePendingUserInputRequest{
			RequestID: q.ID,
			Response:  rpc.UIUserInputResponse{Answer: a.Text, WasFreeform: !slices.Contains(q.Choices, a.Text)},
		})
		return err
	}
	_, err := c.session.RPC.Permissions.HandlePendingPermissionRequest(ctx, &rpc.PermissionDecisionRequest{
		RequestID: q.ID, Result: decision(a),
	})
	return err
}

// decision is always for this once: what is remembered is remembered by the
// session's policy, which holds for every agent. A refusal always has a text:
// without one the CLI gives the whole turn up.
func decision(a copilot.Answer) rpc.PermissionDecision {
	if a.Approved {
		return &rpc.PermissionDecisionApproveOnce{}
	}
	reason := a.Reason
	if reason == "" {
		reason = "The user refused it."
	}
	return &rpc.PermissionDecisionReject{Feedback: &reason}
}

// Close lets the session go; the CLI has it saved and ends its commands. Handlers
// of ask_user are freed last, so that they do not answer for the user.
func (c *conversation) Close(ctx context.Context) error {
	c.mute()
	defer c.unparkAll()
	return inTime(ctx, c.session.Disconnect)
}

// mute ends what reaches the sink, and lets go of it: the SDK keeps closed
// sessions as long as the process lives.
func (c *conversation) mute() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.sink = nil
}

// park is the SDK's handler of ask_user. The answer goes by the question's id,
// which the handler is not told, so it only waits until it is not needed any
// more: its own result comes too late to count.
func (c *conversation) park(r vendor.UserInputRequest, _ vendor.UserInputInvocation) (vendor.UserInputResponse, error) {
	free := make(chan struct{})
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return vendor.UserInputResponse{}, errGone
	}
	c.parked[r.Question] = append(c.parked[r.Question], free)
	c.mu.Unlock()
	select {
	case <-free:
	case <-c.agent.done:
	}
	return vendor.UserInputResponse{}, errGone
}

var errGone = errors.New("the question was answered or withdrawn")

func (c *conversation) unpark(question string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	waiting := c.parked[question]
	if len(waiting) == 0 {
		return
	}
	close(waiting[0])
	c.parked[question] = waiting[1:]
	if len(waiting) == 1 {
		delete(c.parked, question)
	}
}

func (c *conversation) unparkAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free()
}

// free is called with the lock held.
func (c *conversation) free() {
	for _, waiting := range c.parked {
		for _, free := range waiting {
			close(free)
		}
	}
	clear(c.parked)
}

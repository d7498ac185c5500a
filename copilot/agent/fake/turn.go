package fake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Turn is the work on one prompt, as a script sees it. Its methods may be called from any goroutine until the
// script returns; then the agent is idle. A script should return after an abort; one that does not simulates
// an agent that ignores it. After the process has died, all methods do nothing and none blocks, except those
// that wait for a permission or the result of a tool: they continue if the question is among
// [agent.Opening.Pending] of a later process.
type Turn struct {
	Prompt      string
	Past        []string // the earlier prompts, including those of earlier processes
	Model       string
	Mode        event.Mode
	Attachments []event.Attachment
	Opening     agent.Opening // of the conversation

	conversation atomic.Pointer[conversation] // replaced if the work continues in a later process
	over         chan struct{}                // closed when the script has returned
	aborted      chan struct{}
	steers       []string // unread; guarded by the conversation
	forgets      bool     // sends no Idle
	answers      int      // number of responses of the model so far
}

// at returns the current conversation.
func (t *Turn) at() *conversation { return t.conversation.Load() }

func (t *Turn) perform() {
	defer close(t.over)
	agents := t.at().process.agents
	defer agents.release(t)
	script := agents.Script
	if script == nil {
		script = Echo
	}
	script(t)
	t.end()
}

func (t *Turn) end() {
	c := t.at()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.withdraw()
	if len(t.steers) > 0 && !t.isAborted() { // unread ones become prompts
		next := t.steers[0]
		rest := t.steers[1:]
		if c.begin(event.Prompt{Text: next}) == nil {
			c.turn.steers = rest
		}
		return
	}
	c.turn = nil
	if !t.forgets {
		c.emitLocked("", event.Idle{Aborted: t.isAborted()})
	}
}

// Steered returns the next steering prompt, or false if there is none. A steering prompt that the script does
// not read becomes a prompt of its own.
func (t *Turn) Steered() (prompt string, ok bool) {
	c := t.at()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(t.steers) == 0 {
		return "", false
	}
	prompt, t.steers = t.steers[0], t.steers[1:]
	c.process.agents.save(t.Opening.Session, prompt)
	return prompt, true
}

// UseTool calls a client tool: it asks for permission, then for the result. It returns what the model gets,
// and whether that is a result. A tool that the conversation does not have is not called; an aborted call has
// no end.
func (t *Turn) UseTool(name string, arguments string) (told string, ok bool) {
	if !slices.ContainsFunc(t.Opening.Tools, func(tool event.Tool) bool { return tool.Name == name }) {
		return "", false
	}
	call, raw := t.ID("call"), json.RawMessage(arguments)
	t.Emit(event.ToolStarted{ID: call, Name: name, Arguments: raw})
	result, fault := t.useTool(event.Question{Kind: event.AskTool, Call: call, Tool: name, Arguments: raw})
	switch {
	case fault != nil:
		told = fault.Text
	case result != nil:
		told = result.Content
	default:
		return "", false
	}
	t.Emit(event.ToolEnded{ID: call, Result: result, Error: fault})
	return told, result != nil
}

func (t *Turn) useTool(q event.Question) (*event.ToolResult, *event.ToolError) {
	a, ok := t.Ask(event.Question{
		Call: q.Call, Tool: q.Tool, Names: []string{permission.OfTool(q.Tool, q.Arguments)}, Title: "Use " + q.Tool,
	})
	switch {
	case !ok:
		return nil, nil
	case !a.Approved:
		return nil, Refusal(a)
	}
	a, ok = t.Ask(q)
	switch {
	case !ok:
		return nil, nil
	case a.Failed:
		return nil, &event.ToolError{Text: a.Reason, Code: "failure"}
	}
	return &event.ToolResult{Content: a.Text}, nil
}

// Refusal returns the error of a tool call whose permission was refused.
func Refusal(a event.Answer) *event.ToolError {
	return &event.ToolError{Text: "The user rejected this tool call. User feedback: " + a.Reason, Code: event.CodeDenied}
}

// Emit sends events of the main agent.
func (t *Turn) Emit(bodies ...event.Body) { t.at().emit("", bodies) }

// EmitAs sends events of a sub-agent.
func (t *Turn) EmitAs(agent string, bodies ...event.Body) { t.at().emit(agent, bodies) }

// Ask asks a question and waits for its answer. It returns false if there is none, because of an abort or a
// death, or because the model may not ask. It generates a missing kind and id.
func (t *Turn) Ask(q event.Question) (event.Answer, bool) {
	if q.Kind != "" && !t.Offers(q.Kind) {
		return event.Answer{}, false
	}
	return t.AskAlways(q)
}

// AskAlways is like Ask, even if the model may not ask. It is for tests of the questions themselves.
func (t *Turn) AskAlways(q event.Question) (event.Answer, bool) {
	if q.Kind == "" {
		q.Kind = event.AskPermission
	}
	if q.ID == "" {
		q.ID = t.ID("question")
	}
	i := t.ask(q)
	select {
	case a := <-i.answer:
		return a, true
	case <-i.over:
		return event.Answer{}, false
	}
}

// Offers reports whether the model may ask a question of a kind.
func (t *Turn) Offers(k event.QuestionKind) bool {
	switch k {
	case event.AskPermission:
		return true
	case event.AskTool:
		return len(t.Opening.Tools) > 0
	case event.AskPlan:
		return t.Opening.AskUser && t.Mode == event.ModePlan
	case event.AskInput, event.AskForm, event.AskSignIn:
	}
	return t.Opening.AskUser
}

// ask sends a question and returns its state.
func (t *Turn) ask(q event.Question) *scriptQuestion {
	c, i := t.at(), newScriptQuestion(q)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != t || t.isAborted() || c.process.isDead() {
		close(i.over)
		return i
	}
	c.questions[q.ID] = i // first, because the answer may come at once
	c.emitLocked("", event.QuestionAsked{Question: q})
	return i
}

// Wait waits; it returns false if an abort or a death interrupted it.
func (t *Turn) Wait(d time.Duration) bool { return t.wait(d, t.aborted) }

// WaitIgnoringAbort waits despite aborts; it returns false if the process died.
func (t *Turn) WaitIgnoringAbort(d time.Duration) bool { return t.wait(d, nil) }

func (t *Turn) wait(d time.Duration, aborted <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-aborted:
	case <-t.Gone():
	}
	return false
}

// Aborted returns a channel that is closed when the work should end.
func (t *Turn) Aborted() <-chan struct{} { return t.aborted }

// Gone returns a channel that is closed when the process has died.
func (t *Turn) Gone() <-chan struct{} { return t.at().process.died }

// WaitForAbort waits until the work is aborted or the process dies.
func (t *Turn) WaitForAbort() {
	select {
	case <-t.aborted:
	case <-t.Gone():
	}
}

// Kill kills the process.
func (t *Turn) Kill() { t.at().process.die() }

// Answer wraps a response of the model. The ids start at 0 in each prompt.
func (t *Turn) Answer(does func()) {
	id := strconv.Itoa(t.answers)
	t.answers++
	t.Emit(event.TurnStarted{ID: id})
	does()
	t.Emit(event.TurnEnded{ID: id})
}

// ID returns an id that is new in the session, such as "message-3".
func (t *Turn) ID(kind string) string {
	return fmt.Sprintf("%s-%d", kind, t.at().process.agents.nextID(t.Opening.Session))
}

func (t *Turn) isAborted() bool { return agent.IsClosed(t.aborted) }

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

// Turn is the work on one prompt, as a script sees it. Its methods may be
// called on any goroutine until the script returns. When it does, the agent is
// idle. A script that was aborted should return; one that does not is an agent
// that ignores an abort. Once the process has died, all of them do nothing and
// none waits, but one that asks for a permission or for the result of a tool: it
// goes on when that is among [agent.Opening.Pending] in a later process.
type Turn struct {
	Prompt      string
	Past        []string // the prompts before it, those of earlier processes too
	Model       string
	Mode        event.Mode
	Attachments []event.Attachment
	Opening     agent.Opening // of the conversation

	conversation atomic.Pointer[conversation] // another one when the work goes on in a later process
	over         chan struct{}                // closed when the script has returned
	aborted      chan struct{}
	steers       []string // not read yet; guarded by the conversation
	forgets      bool     // its end is not told
	answers      int      // of the model so far
}

// at is where the work is told now.
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
	if len(t.steers) > 0 && !t.isAborted() { // read at last, as prompts
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

// Steered gives the next prompt that steers the work; false if there is none.
// One that the script does not read becomes a prompt of its own when it returns.
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

// UseTool calls a tool of a client: it asks whether it may, then for the result.
// It gives what the model is told, and whether that is a result. A tool that was
// not given to the conversation is not called; of one that is aborted no end is
// told.
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

// Refusal is how a tool ends that a permission was refused for.
func Refusal(a event.Answer) *event.ToolError {
	return &event.ToolError{Text: "The user rejected this tool call. User feedback: " + a.Reason, Code: "denied"}
}

// Emit tells what happens, as the main agent.
func (t *Turn) Emit(bodies ...event.Body) { t.at().emit("", bodies) }

// EmitAs tells what a sub-agent does.
func (t *Turn) EmitAs(agent string, bodies ...event.Body) { t.at().emit(agent, bodies) }

// Ask asks a question and waits for its answer; false if there was none,
// because of an abort or a death, or because the model is not offered to ask
// it. Kind and ID are made up where they are missing.
func (t *Turn) Ask(q event.Question) (event.Answer, bool) {
	if q.Kind != "" && !t.Offers(q.Kind) {
		return event.Answer{}, false
	}
	return t.AskAlways(q)
}

// AskAlways is Ask whether the model is offered it or not, for tests of what becomes
// of a question and not of who may ask it.
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

// Offers says whether the model is offered what leads to a question of a kind.
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

// ask gives where the answer will come.
func (t *Turn) ask(q event.Question) *scriptQuestion {
	c, i := t.at(), newScriptQuestion(q)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != t || t.isAborted() || c.process.isDead() {
		close(i.over)
		return i
	}
	c.questions[q.ID] = i // first: the answer may come at once
	c.emitLocked("", event.QuestionAsked{Question: q})
	return i
}

// Wait lets time pass; false when it was cut short by an abort or a death.
func (t *Turn) Wait(d time.Duration) bool { return t.wait(d, t.aborted) }

// WaitIgnoringAbort lets time pass whatever is aborted; false when the process died.
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

// Aborted is closed when somebody wants the work to end.
func (t *Turn) Aborted() <-chan struct{} { return t.aborted }

// Gone is closed when the process has died.
func (t *Turn) Gone() <-chan struct{} { return t.at().process.died }

// WaitForAbort waits until the work is aborted, or the process dies.
func (t *Turn) WaitForAbort() {
	select {
	case <-t.aborted:
	case <-t.Gone():
	}
}

// Kill ends the process by force.
func (t *Turn) Kill() { t.at().process.die() }

// Answer encloses an answer of the model. The ids count from 0 in each prompt.
func (t *Turn) Answer(does func()) {
	id := strconv.Itoa(t.answers)
	t.answers++
	t.Emit(event.TurnStarted{ID: id})
	does()
	t.Emit(event.TurnEnded{ID: id})
}

// ID makes an id that is new in the session, such as "message-3".
func (t *Turn) ID(kind string) string {
	return fmt.Sprintf("%s-%d", kind, t.at().process.agents.nextID(t.Opening.Session))
}

func (t *Turn) isAborted() bool {
	select {
	case <-t.aborted:
		return true
	default:
		return false
	}
}

package agenttest

import (
	"strings"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// eventChecker checks the rules that hold for all events of a conversation.
type eventChecker struct {
	*ruleContext
	resumed   bool // tool calls of an earlier conversation may end here
	idles     int
	failed    bool // since the last Idle
	texts     map[string]string
	used      map[string]bool // all ids used so far
	tools     map[string]bool // running calls
	questions map[string]event.QuestionKind
	agents    map[string]bool
}

func newEventChecker(c *testConversation) *eventChecker {
	l := &eventChecker{
		ruleContext: c.ruleContext, resumed: c.opening.Resume, texts: map[string]string{}, used: map[string]bool{}, tools: map[string]bool{},
		questions: map[string]event.QuestionKind{}, agents: map[string]bool{},
	}
	for _, q := range c.opening.Pending {
		l.unique("question " + q.ID)
		l.questions[q.ID] = q.Kind
		l.used["tool "+q.Call] = true
		l.tools[q.Call] = true
	}
	return l
}

func (l *eventChecker) add(h recordedEvent) {
	l.allowed(h.body)
	l.attribute(h)
	switch b := h.body.(type) {
	case event.MessageStarted:
		l.start("message " + b.ID)
	case event.MessageDelta:
		l.delta("message "+b.ID, b.Text)
	case event.MessageEnded:
		l.end("message "+b.ID, b.Text)
	case event.ReasoningStarted:
		l.start("thought " + b.ID)
	case event.ReasoningDelta:
		l.delta("thought "+b.ID, b.Text)
	case event.ReasoningEnded:
		l.end("thought "+b.ID, b.Text)
	case event.ToolStarted, event.ToolOutput, event.ToolEnded:
		l.tool(h)
	case event.QuestionAsked:
		l.unique("question " + b.Question.ID)
		l.questions[b.Question.ID] = b.Question.Kind
	case event.QuestionClosed:
		l.answered(b)
	case event.SessionError:
		l.failed = true
	case event.Idle:
		l.idle(b)
	}
}

func (l *eventChecker) unique(id string) {
	if l.used[id] {
		l.Errorf("%s starts twice", id)
	}
	l.used[id] = true
}

func (l *eventChecker) start(id string) {
	l.unique(id)
	l.texts[id] = ""
}

func (l *eventChecker) delta(id, text string) {
	if _, open := l.texts[id]; !open {
		l.Errorf("%s continues without a start, or after its end: %q", id, text)
	}
	l.texts[id] += text
}

// end accepts that a failed answer is retracted with an empty text, and that the complete text of a thought
// lacks the surrounding blanks.
func (l *eventChecker) end(id, text string) {
	deltas, open := l.texts[id]
	if !open {
		l.unique(id)
	} else if strings.TrimSpace(deltas) != strings.TrimSpace(text) && text != "" {
		l.Errorf("the deltas of %s are %q and its end is %q", id, deltas, text)
	}
	delete(l.texts, id)
}

func (l *eventChecker) tool(h recordedEvent) {
	switch b := h.body.(type) {
	case event.ToolStarted:
		l.unique("tool " + b.ID)
		l.tools[b.ID] = true
		if b.Name == "" {
			l.Errorf("the tool %s has no name", b.ID)
		}
	case event.ToolOutput:
		if !l.tools[b.ID] {
			l.Errorf("output of the tool %s, which is not running", b.ID)
		}
	case event.ToolEnded:
		if !l.tools[b.ID] && !l.resumed {
			l.Errorf("the tool %s ends but is not running", b.ID)
		}
		if b.Result == nil && b.Error == nil {
			l.Errorf("the tool %s has neither a result nor an error: %+v", b.ID, b)
		}
		delete(l.tools, b.ID)
	}
}

func (l *eventChecker) answered(b event.QuestionClosed) {
	if _, open := l.questions[b.ID]; !open {
		l.Errorf("the question %s is closed but is not open", b.ID)
	}
	if b.Ending != event.Withdrawn || b.By != "" {
		l.Errorf("the agent must only report that a question is closed, not how: %+v", b)
	}
	delete(l.questions, b.ID)
}

// idle checks that nothing is open, except what was interrupted.
func (l *eventChecker) idle(i event.Idle) {
	l.idles++
	if len(l.questions) > 0 {
		l.Errorf("the agent is idle with open questions: %v", l.questions)
	}
	if !i.Aborted && len(l.tools)+len(l.agents) > 0 {
		l.Errorf("the agent is idle with running tools %v, sub-agents %v", l.tools, l.agents)
	}
	if !i.Aborted && !l.failed && len(l.texts) > 0 {
		l.Errorf("the agent is idle with unfinished texts: %v", l.texts)
	}
	l.failed = false
	clear(l.texts)
	clear(l.tools)
}

// attribute checks the sub-agents of events.
func (l *eventChecker) attribute(h recordedEvent) {
	switch b := h.body.(type) {
	case event.SubagentStarted:
		l.unique("sub-agent " + b.ID)
		l.agents[b.ID] = true
		if b.ID == "" || b.ID != h.agent {
			l.Errorf("the sub-agent %q is reported by %q", b.ID, h.agent)
		}
	case event.SubagentEnded:
		if !l.agents[b.ID] || b.ID != h.agent {
			l.Errorf("the end of the sub-agent %q is reported by %q; running: %v", b.ID, h.agent, l.agents)
		}
		delete(l.agents, b.ID)
	default:
		if h.agent != "" && !l.agents[h.agent] {
			l.Errorf("event of a sub-agent that is not running: %s", show([]recordedEvent{h}))
		}
	}
}

// allowed checks that no event comes that the agent cannot send, or that only a session records.
func (l *eventChecker) allowed(b event.Body) {
	switch b := b.(type) {
	case event.ReasoningStarted, event.ReasoningDelta, event.ReasoningEnded:
		l.hasCapability(agent.Reasoning, b)
	case event.SubagentStarted, event.SubagentEnded:
		l.hasCapability(agent.Subagents, b)
	case event.CompactionStarted, event.CompactionEnded:
		l.hasCapability(agent.Compaction, b)
	case event.UsageChanged:
		l.hasCapability(agent.Context, b)
	case event.ModelCalled:
		l.hasCapability(agent.Usage, b)
	case event.PlanChanged:
		if len(b.Todos) > 0 {
			l.hasCapability(agent.Todos, b)
		}
		if b.Text != "" {
			l.hasCapability(agent.Approval, b)
		}
	case event.QuestionAsked:
		l.askable(b)
	case event.SessionOpened, event.SessionClosed, event.RunStarted, event.RunEnded, event.UserMessage:
		l.Errorf("only a session records %T", b)
	}
}

func (l *eventChecker) askable(b event.QuestionAsked) {
	switch b.Question.Kind {
	case event.AskInput:
		l.hasCapability(agent.Questions, b)
	case event.AskPlan:
		l.hasCapability(agent.Approval, b)
	case event.AskTool:
		l.hasCapability(agent.ClientTools, b)
	case event.AskPermission:
		l.hasCapability(agent.Permissions, b)
	case event.AskForm, event.AskSignIn:
	}
}

func (l *eventChecker) hasCapability(a agent.Capability, b event.Body) {
	if !l.subject.can(a) {
		l.Errorf("the agent does not declare the capability %s but sends %T", a, b)
	}
}

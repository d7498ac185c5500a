package agenttest

import (
	"slices"
	"strings"
	"testing"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/testclock"
)

// pendingRule is a rule of a question that was open, or had just been answered, when the process died.
type pendingRule struct {
	name  string
	needs []agent.Capability
	// before returns a conversation that has the question.
	before func(*ruleContext) (*testConversation, event.Question)
	// after checks what becomes of it in another process.
	after func(*ruleContext, *testConversation, event.Question)
}

func pendingRules() []pendingRule {
	needs := []agent.Capability{agent.Continuing, agent.Resuming, agent.Permissions}
	tools := []agent.Capability{agent.Continuing, agent.Resuming, agent.ClientTools}
	steers := append(slices.Clone(needs), agent.Steering)
	return []pendingRule{
		{"a pending permission can be granted, and the work continues", needs, duringPermission(Say{"and on"}), pendingGranted},
		{"a pending permission can be refused, and the model continues", needs, duringPermission(Say{"and on"}), pendingRefused},
		{"a client tool with a pending permission is called", tools, duringToolPermission, pendingToolPermission},
		{"a pending call of a client tool can return its result", tools, duringToolCall, pendingToolResult},
		{"a steering prompt that was not read is lost with the process", steers, duringSteering, pendingSteered},
		{"a prompt with a pending question can be aborted", needs, duringPermission(Say{"and on"}), pendingAborted},
		{
			"a question that is no longer pending is closed",
			[]agent.Capability{agent.Resuming, agent.Permissions},
			duringPermission(Say{"and on"}), noLongerPending,
		},
		{"a pending question that was already answered is closed at once", []agent.Capability{agent.Permissions}, afterAnswer, pendingAnswered},
		{"a pending question can be answered after another death", needs, duringPermission(), pendingTwice}, // it kills the next process, too
	}
}

// alone returns the rule for one process.
func (r pendingRule) alone() rule {
	return rule{name: r.name, needs: r.needs, do: func(s *ruleContext) {
		c, q := r.before(s)
		s.restartAfterKill(c)
		r.after(s, c, q)
	}}
}

// checkPending checks all rules of pending questions with one process, which is killed once.
func (s Subject) checkPending(t *testing.T, m Machine) {
	t.Helper()
	rules := slices.DeleteFunc(pendingRules(), func(r pendingRule) bool { return s.lacks(r.needs) })
	if len(rules) == 0 {
		t.Skip("the agent does not declare these capabilities")
	}
	running := launch(t, t, m)
	conversations, questions := make([]*testConversation, len(rules)), make([]event.Question, len(rules))
	for i, r := range rules {
		conversations[i], questions[i] = r.before(s.context(t, t, m, running))
	}
	kill(t, m, running)
	running = launch(t, t, m)
	for i, r := range rules {
		t.Run(r.name, func(sub *testing.T) {
			c := conversations[i]
			c.closed = true
			*c.ruleContext = *s.context(sub, t, m, running)
			c.conversations = []*testConversation{c}
			r.after(c.ruleContext, c, questions[i])
			c.ruleContext.finish()
			running = c.agent
		})
	}
}

// kill kills a process after the agent has had time to save its conversations.
func kill(tb testing.TB, m Machine, a agent.Agent) {
	tb.Helper()
	testclock.Settle(saving)
	m.Kill(a)
	awaitEnd(tb, a)
}

// restartAfterKill kills the process and starts another.
func (s *ruleContext) restartAfterKill(c *testConversation) {
	s.Helper()
	kill(s, s.machine, s.agent)
	c.closed = true
	s.agent = s.launch()
}

// duringPermission returns a function that returns a conversation that asks for a permission, with its question.
func duringPermission(then ...Scene) func(*ruleContext) (*testConversation, event.Question) {
	return func(s *ruleContext) (*testConversation, event.Question) {
		s.Helper()
		c := s.open(nil)
		c.run(Say{"a heron"})
		c.send(append([]Scene{Shell{"printf hello"}}, then...)...)
		return c, c.asked(event.AskPermission)
	}
}

// assertContinues checks the rest of a prompt that was resumed during a tool call.
func (c *testConversation) assertContinues(q event.Question) (event.ToolEnded, string) {
	c.Helper()
	got := c.idle(false)
	end := one[event.ToolEnded](c.ruleContext, got)
	if end.ID != q.Call || len(bodies[event.ToolStarted](got)) > 0 {
		c.Errorf("the call %s continued with %s", q.Call, show(got))
	}
	c.contains(said(c.run(Recall{})), "a heron")
	return end, said(got)
}

func pendingGranted(s *ruleContext, c *testConversation, q event.Question) {
	again := s.again(c, q).assertResumed()
	again.assertSilent()
	if working, err := again.Working(s.shortContext()); !working || err != nil {
		s.Errorf("working: %v, %v", working, err)
	}
	again.answer(q, event.Answer{Approved: true})
	end, text := again.assertContinues(q)
	if end.Result == nil || !strings.Contains(end.Result.Content, "hello") {
		s.Errorf("the call ended with %+v", end)
	}
	s.contains(text, "and on")
	again.answer(q, event.Answer{})
	again.assertSilent()
}

func pendingRefused(s *ruleContext, c *testConversation, q event.Question) {
	again := s.again(c, q).assertResumed()
	again.answer(q, event.Answer{Reason: "Not on a Sunday."})
	end, text := again.assertContinues(q)
	if end.Error == nil || !strings.Contains(end.Error.Text, "Not on a Sunday.") {
		s.Errorf("the call ended with %+v", end)
	}
	s.contains(text, "and on")
}

func pendingTwice(s *ruleContext, c *testConversation, q event.Question) {
	again := s.again(c, q).assertResumed()
	s.restartAfterKill(again)
	again = s.again(c, q).assertResumed()
	again.answer(q, event.Answer{Approved: true})
	_, text := again.assertContinues(q)
	s.contains(text, "hello")
}

func duringSteering(s *ruleContext) (*testConversation, event.Question) {
	c, q := duringPermission(Say{"and on"})(s)
	s.mustSucceed(c.Send(s.shortContext(), c.steer("steered")))
	return c, q
}

func pendingSteered(s *ruleContext, c *testConversation, q event.Question) {
	again := s.again(c, q).assertResumed()
	again.answer(q, event.Answer{Approved: true})
	_, text := again.assertContinues(q)
	s.contains(text, "and on")
	s.lacks(text, "steered")
}

func duringToolPermission(s *ruleContext) (*testConversation, event.Question) {
	c := s.open(withTools)
	c.run(Say{"a heron"})
	return c, c.call()
}

func pendingToolPermission(s *ruleContext, c *testConversation, permission event.Question) {
	again := s.again(c, permission).assertResumed()
	again.answer(permission, event.Answer{Approved: true})
	q := again.asked(event.AskTool)
	if q.Call != permission.Call || q.Tool != "ide.open" {
		s.Errorf("after the permission %+v the call is %+v", permission, q)
	}
	again.answer(q, event.Answer{Text: "it is open"})
	_, text := again.assertContinues(q)
	s.contains(text, "it is open")
}

func duringToolCall(s *ruleContext) (*testConversation, event.Question) {
	c := s.open(withTools)
	c.run(Say{"a heron"})
	return c, c.called()
}

func pendingToolResult(s *ruleContext, c *testConversation, q event.Question) {
	again := s.again(c, q).assertResumed()
	again.assertSilent()
	again.answer(q, event.Answer{Text: "it is open"})
	end, text := again.assertContinues(q)
	if end.Result == nil || end.Result.Content != "it is open" {
		s.Errorf("the call ended with %+v", end)
	}
	s.contains(text, "it is open")
}

func pendingAborted(s *ruleContext, c *testConversation, q event.Question) {
	again := s.again(c, q).assertResumed()
	s.mustSucceed(again.Abort(s.shortContext()))
	if over := one[event.QuestionClosed](s, again.idle(true)); over.ID != q.ID {
		s.Errorf("the end of %s is %+v", q.ID, over)
	}
	again.assertSilent()
	s.contains(said(again.run(Recall{})), "a heron")
}

func noLongerPending(s *ruleContext, c *testConversation, q event.Question) {
	again := s.again(c).assertResumed()
	again.answer(q, event.Answer{Approved: true})
	s.contains(said(again.run(Recall{})), "a heron")
}

// assertEndsAtOnce checks that a question is closed at once, and ends its prompt.
func (c *testConversation) assertEndsAtOnce(q event.Question) {
	c.Helper()
	if over := one[event.QuestionClosed](c.ruleContext, c.idle(true)); over.ID != q.ID {
		c.Errorf("the end of %s is %+v", q.ID, over)
	}
	c.contains(said(c.run(Say{"on we go"})), "on we go")
}

func afterAnswer(s *ruleContext) (*testConversation, event.Question) {
	c := s.open(nil)
	c.send(Shell{"printf hello"})
	q := c.asked(event.AskPermission)
	c.answer(q, event.Answer{Approved: true})
	c.idle(false)
	return c, q
}

func pendingAnswered(s *ruleContext, c *testConversation, q event.Question) {
	s.again(c, q).assertEndsAtOnce(q)
}

func pendingInUnknownConversation(s *ruleContext) {
	q := event.Question{ID: "nothing", Kind: event.AskPermission, Call: "none"}
	s.open(func(o *agent.Opening) { o.Resume, o.Pending = true, []event.Question{q} }).assertNew().assertEndsAtOnce(q)
}

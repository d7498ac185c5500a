package agenttest

import (
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/testclock"
)

// pendingRules returns the rules of questions that were open when the process died.
func pendingRules() []rule {
	needs := []agent.Capability{agent.Continuing, agent.Resuming, agent.Permissions}
	tools := []agent.Capability{agent.Continuing, agent.Resuming, agent.ClientTools}
	steers := append(slices.Clone(needs), agent.Steering)
	return []rule{
		{name: "a pending permission can be granted, and the work continues", needs: needs, do: pendingGranted},
		{name: "a pending permission can be refused, and the model continues", needs: needs, do: pendingRefused},
		{name: "a pending question can be answered after another death", needs: needs, do: pendingTwice},
		{name: "a client tool with a pending permission is called", needs: tools, do: pendingToolPermission},
		{name: "a pending call of a client tool can return its result", needs: tools, do: pendingToolResult},
		{name: "a steering prompt that was not read is lost with the process", needs: steers, do: pendingSteered},
		{name: "a prompt with a pending question can be aborted", needs: needs, do: pendingAborted},
		{name: "a question that is no longer pending is closed", needs: []agent.Capability{agent.Resuming, agent.Permissions}, do: noLongerPending},
		{name: "a pending question that was already answered is closed at once", needs: []agent.Capability{agent.Permissions}, do: pendingAnswered},
		{name: "a pending question of an unknown conversation is closed at once", do: pendingInUnknownConversation},
	}
}

// restartAfterKill kills the process and starts another. It first gives the agent time to save the
// conversation.
func (s *ruleContext) restartAfterKill(c *testConversation) {
	s.Helper()
	testclock.Settle(saving)
	s.machine.Kill(s.agent)
	s.gone()
	c.closed = true
	s.agent = s.launch()
}

// killDuringPermission kills the process while a conversation asks for a permission, and returns the
// conversation with its question.
func (s *ruleContext) killDuringPermission(then ...Scene) (*testConversation, event.Question) {
	s.Helper()
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.send(append([]Scene{Shell{"printf hello"}}, then...)...)
	q := c.asked(event.AskPermission)
	s.restartAfterKill(c)
	return c, q
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

func pendingGranted(s *ruleContext) {
	c, q := s.killDuringPermission(Say{"and on"})
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

func pendingRefused(s *ruleContext) {
	c, q := s.killDuringPermission(Say{"and on"})
	again := s.again(c, q).assertResumed()
	again.answer(q, event.Answer{Reason: "Not on a Sunday."})
	end, text := again.assertContinues(q)
	if end.Error == nil || !strings.Contains(end.Error.Text, "Not on a Sunday.") {
		s.Errorf("the call ended with %+v", end)
	}
	s.contains(text, "and on")
}

func pendingTwice(s *ruleContext) {
	c, q := s.killDuringPermission()
	again := s.again(c, q).assertResumed()
	s.restartAfterKill(again)
	again = s.again(c, q).assertResumed()
	again.answer(q, event.Answer{Approved: true})
	_, text := again.assertContinues(q)
	s.contains(text, "hello")
}

func pendingSteered(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.send(Shell{"printf hello"}, Say{"and on"})
	q := c.asked(event.AskPermission)
	s.mustSucceed(c.Send(s.shortContext(), c.steer("steered")))
	s.restartAfterKill(c)
	again := s.again(c, q).assertResumed()
	again.answer(q, event.Answer{Approved: true})
	_, text := again.assertContinues(q)
	s.contains(text, "and on")
	s.lacks(text, "steered")
}

func pendingToolPermission(s *ruleContext) {
	c := s.open(withTools)
	c.run(Say{"a heron"})
	permission := c.call()
	s.restartAfterKill(c)
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

func pendingToolResult(s *ruleContext) {
	c := s.open(withTools)
	c.run(Say{"a heron"})
	q := c.called()
	s.restartAfterKill(c)
	again := s.again(c, q).assertResumed()
	again.assertSilent()
	again.answer(q, event.Answer{Text: "it is open"})
	end, text := again.assertContinues(q)
	if end.Result == nil || end.Result.Content != "it is open" {
		s.Errorf("the call ended with %+v", end)
	}
	s.contains(text, "it is open")
}

func pendingAborted(s *ruleContext) {
	c, q := s.killDuringPermission(Say{"and on"})
	again := s.again(c, q).assertResumed()
	s.mustSucceed(again.Abort(s.shortContext()))
	if over := one[event.QuestionClosed](s, again.idle(true)); over.ID != q.ID {
		s.Errorf("the end of %s is %+v", q.ID, over)
	}
	again.assertSilent()
	s.contains(said(again.run(Recall{})), "a heron")
}

func noLongerPending(s *ruleContext) {
	c, q := s.killDuringPermission(Say{"and on"})
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

func pendingAnswered(s *ruleContext) {
	c := s.open(nil)
	c.send(Shell{"printf hello"})
	q := c.asked(event.AskPermission)
	c.answer(q, event.Answer{Approved: true})
	c.idle(false)
	s.restartAfterKill(c)
	s.again(c, q).assertEndsAtOnce(q)
}

func pendingInUnknownConversation(s *ruleContext) {
	q := event.Question{ID: "nothing", Kind: event.AskPermission, Call: "none"}
	s.open(func(o *agent.Opening) { o.Resume, o.Pending = true, []event.Question{q} }).assertNew().assertEndsAtOnce(q)
}

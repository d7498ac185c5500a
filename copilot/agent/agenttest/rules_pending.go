package agenttest

import (
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// pendingRules are about questions that were open when the process died.
func pendingRules() []rule {
	needs := []Capability{Continuing, Resuming, Permissions}
	tools := []Capability{Continuing, Resuming, ClientTools}
	return []rule{
		{name: "a permission that was asked for before the process died can be given, and the work goes on", needs: needs, do: pendingGiven},
		{name: "a permission that was asked for before the process died can be refused, and the model goes on", needs: needs, do: pendingRefused},
		{name: "what was asked before the process died can be answered after another death", needs: needs, do: pendingTwice},
		{name: "a tool of a client that was not permitted when the process died is called", needs: tools, do: pendingToolPermission},
		{name: "a tool of a client that was called before the process died can give its result", needs: tools, do: pendingToolResult},
		{name: "what was asked before the process died can be aborted", needs: needs, do: pendingAborted},
		{name: "what was asked before the process died and is not pending any more is over", needs: []Capability{Resuming, Permissions}, do: pendingNoMore},
		{name: "what is pending and was answered already is over at once", needs: []Capability{Permissions}, do: pendingAnswered},
		{name: "what is pending in a conversation that was never there is over at once", do: pendingNowhere},
	}
}

// restartAfterKill kills the process and starts another; an agent has some time before that
// to save what was said.
func (s *ruleContext) restartAfterKill(c *testConversation) {
	s.Helper()
	<-time.After(saving)
	s.machine.Kill(s.agent)
	s.gone()
	c.closed = true
	s.agent = s.launch()
}

// killDuringPermission has a conversation die that asks for a permission, and gives it with what
// it asks.
func (s *ruleContext) killDuringPermission(then ...Scene) (*testConversation, event.Question) {
	s.Helper()
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.send(append([]Scene{Shell{"echo hello"}}, then...)...)
	q := c.asked(event.AskPermission)
	s.restartAfterKill(c)
	return c, q
}

// assertContinues looks at the rest of a prompt that was taken up in the middle of a call.
func (c *testConversation) assertContinues(q event.Question) (event.ToolEnded, string) {
	c.Helper()
	got := c.idle(false)
	end := one[event.ToolEnded](c.ruleContext, got)
	if end.ID != q.Call || len(bodies[event.ToolStarted](got)) > 0 {
		c.Errorf("the call %s goes on with %s", q.Call, show(got))
	}
	c.contains(said(c.run(Recall{})), "a heron")
	return end, said(got)
}

func pendingGiven(s *ruleContext) {
	c, q := s.killDuringPermission(Say{"and on"})
	again := s.again(c, q).assertResumed()
	again.assertSilent()
	if working, err := again.Working(s.shortContext()); !working || err != nil {
		s.Errorf("it works: %v, %v", working, err)
	}
	again.answer(q, event.Answer{Approved: true})
	end, text := again.assertContinues(q)
	if end.Result == nil || !strings.Contains(end.Result.Content, "hello") {
		s.Errorf("the call ends with %+v", end)
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
		s.Errorf("the call ends with %+v", end)
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
		s.Errorf("the call ends with %+v", end)
	}
	s.contains(text, "it is open")
}

func pendingAborted(s *ruleContext) {
	c, q := s.killDuringPermission(Say{"and on"})
	again := s.again(c, q).assertResumed()
	s.mustSucceed(again.Abort(s.shortContext()))
	if over := one[event.QuestionClosed](s, again.idle(true)); over.ID != q.ID {
		s.Errorf("of %s is told %+v", q.ID, over)
	}
	again.assertSilent()
	s.contains(said(again.run(Recall{})), "a heron")
}

func pendingNoMore(s *ruleContext) {
	c, q := s.killDuringPermission(Say{"and on"})
	again := s.again(c).assertResumed()
	again.answer(q, event.Answer{Approved: true})
	s.contains(said(again.run(Recall{})), "a heron")
}

// assertEndsAtOnce looks that a question is told to be over, and the prompt with it.
func (c *testConversation) assertEndsAtOnce(q event.Question) {
	c.Helper()
	if over := one[event.QuestionClosed](c.ruleContext, c.idle(true)); over.ID != q.ID {
		c.Errorf("of %s is told %+v", q.ID, over)
	}
	c.contains(said(c.run(Say{"on we go"})), "on we go")
}

func pendingAnswered(s *ruleContext) {
	c := s.open(nil)
	c.send(Shell{"echo hello"})
	q := c.asked(event.AskPermission)
	c.answer(q, event.Answer{Approved: true})
	c.idle(false)
	s.restartAfterKill(c)
	s.again(c, q).assertEndsAtOnce(q)
}

func pendingNowhere(s *ruleContext) {
	q := event.Question{ID: "nothing", Kind: event.AskPermission, Call: "none"}
	s.open(func(o *agent.Opening) { o.Resume, o.Pending = true, []event.Question{q} }).assertNew().assertEndsAtOnce(q)
}

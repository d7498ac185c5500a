package agenttest

import (
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/testclock"
)

// abortRules returns the rules of aborts.
func abortRules() []rule {
	return []rule{
		{name: "an abort while idle does nothing", do: abortWhileIdle},
		aborted("a prompt that was just sent", func(c *testConversation) { c.send(Wait{time.Minute}) }),
		aborted("a stream", func(c *testConversation) {
			c.send(Stream{Chunks: 5000, Over: 20 * time.Second})
			until[event.MessageDelta](c)
		}),
		aborted("a silent model", func(c *testConversation) {
			c.send(Wait{time.Minute})
			until[event.TurnStarted](c)
		}),
		aborted("an open permission", func(c *testConversation) {
			c.send(Shell{"printf ok"})
			c.asked(event.AskPermission)
		}, agent.Permissions),
		aborted("an open question", func(c *testConversation) {
			c.send(Ask{Question: "Which?"})
			c.asked(event.AskInput)
		}, agent.Questions),
		aborted("an open call of a tool", func(c *testConversation) {
			c.send(Call{Tool: "ide.open", Arguments: "{}"})
			c.answer(c.asked(event.AskPermission), event.Answer{Approved: true})
			c.asked(event.AskTool)
		}, agent.ClientTools),
		aborted("a plan that waits for its approval", func(c *testConversation) {
			c.prompt(event.Prompt{Text: c.subject.Write(Propose{"My plan"}), Mode: event.ModePlan})
			c.asked(event.AskPlan)
		}, agent.Modes, agent.Approval),
		{name: "an abort ends a steering prompt that was not read", needs: []agent.Capability{agent.Steering}, do: abortSteered},
		aborted("a prompt with a steering prompt", func(c *testConversation) {
			c.send(Stream{Chunks: 5000, Over: 20 * time.Second})
			until[event.MessageDelta](c)
			c.mustSucceed(c.Send(c.shortContext(), c.steer("steered")))
		}, agent.Steering),
	}
}

func abortSteered(s *ruleContext) {
	c := s.open(nil)
	c.send(Stream{Chunks: 5000, Over: 20 * time.Second})
	until[event.MessageDelta](c)
	s.mustSucceed(c.Send(s.shortContext(), c.steer("steered")))
	s.mustSucceed(c.Abort(s.shortContext()))
	c.idle(true)
	s.lacks(said(c.run(Recall{})), "steered")
}

func abortWhileIdle(s *ruleContext) {
	c := s.open(nil)
	for range 2 {
		s.mustSucceed(c.Abort(s.shortContext()))
		c.assertSilent()
		s.contains(said(c.run(Say{"hello"})), "hello")
	}
}

// aborted returns the rule that a piece of work can be aborted, that open questions are withdrawn, and that
// the next prompt works normally.
func aborted(what string, begin func(*testConversation), needs ...agent.Capability) rule {
	return rule{name: "an abort ends " + what, needs: needs, do: func(s *ruleContext) {
		c := s.open(func(o *agent.Opening) {
			if s.subject.can(agent.ClientTools) {
				o.Tools = []event.Tool{ideOpen()}
			}
		})
		begin(c)
		s.mustSucceed(c.Abort(s.shortContext()))
		began := testclock.Now()
		c.idle(true)
		if took := began.Elapsed(); took > soon {
			s.Errorf("the abort took %v", took)
		}
		c.assertSilent()
		if next := c.run(Say{"on we go"}); said(next) != "on we go" {
			s.Errorf("the next prompt is not answered: %s", show(next))
		}
	}}
}

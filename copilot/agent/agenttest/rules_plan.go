package agenttest

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// planRules are about to-dos and plans.
func planRules() []rule {
	approval := []Capability{Modes, Approval}
	return []rule{
		{name: "the last plan before the agent is idle is as it is then", needs: []Capability{Todos}, do: todosAreTold},
		{name: "a plan waits for its approval, and goes on the way that was chosen", needs: approval, do: planApproved},
		{name: "a plan that is refused comes back to the model with the reason", needs: approval, do: planRefused},
		{name: "a plan is put to the user in the mode plan only", needs: []Capability{Approval}, do: planInOtherModes},
		{name: "a plan is not put to the user where nobody can answer", needs: approval, do: planWithoutUser},
	}
}

func todosAreTold(s *ruleContext) {
	c := s.open(nil)
	for _, titles := range [][]string{{"read", "write"}, {"rest"}} {
		plans := bodies[event.PlanChanged](c.run(Plan{titles}))
		if len(plans) == 0 {
			s.Fatalf("no plan is told")
		}
		var got []string
		for _, t := range plans[len(plans)-1].Todos {
			if t.ID == "" || t.State != event.TodoCompleted {
				s.Errorf("in the end a to-do is %+v", t)
			}
			got = append(got, t.Title)
		}
		if !slices.Equal(got, titles) {
			s.Errorf("of %q the plan has %q", titles, got)
		}
	}
}

// propose has a plan put to the user.
func (s *ruleContext) propose() (*testConversation, event.Question) {
	s.Helper()
	c := s.open(nil)
	c.prompt(event.Prompt{Text: s.subject.Write(Propose{"Go to the pond"}), Mode: event.ModePlan})
	plan, _ := until[event.PlanChanged](c)
	q := c.asked(event.AskPlan)
	s.contains(q.Text, "Go to the pond")
	if plan.Text != q.Text || len(q.Choices) == 0 {
		s.Errorf("the plan is %+v and the question %+v", plan, q)
	}
	return c, q
}

func planApproved(s *ruleContext) {
	for i := range 2 {
		c, q := s.propose()
		way := append([]string{""}, q.Choices...)[i]
		c.answer(q, event.Answer{Approved: true, Text: way})
		if end := one[event.ToolEnded](s, c.idle(false)); end.Result == nil {
			s.Errorf("the approved plan ends with %+v", end)
		}
	}
}

func planRefused(s *ruleContext) {
	c, q := s.propose()
	c.answer(q, event.Answer{Reason: "Not on a Sunday."})
	s.contains(said(c.idle(false)), "Not on a Sunday.")
}

func planInOtherModes(s *ruleContext) {
	notProposed(s, true, event.ModeInteractive)
}

func planWithoutUser(s *ruleContext) {
	notProposed(s, false, event.ModePlan)
}

func notProposed(s *ruleContext, askUser bool, m event.Mode) {
	c := s.open(func(o *agent.Opening) { o.AskUser = askUser })
	c.prompt(event.Prompt{Text: s.subject.Write(Propose{"Go to the pond"}), Mode: m})
	if got := bodies[event.QuestionAsked](c.idle(false)); len(got) > 0 {
		s.Errorf("it asks %+v", got)
	}
}

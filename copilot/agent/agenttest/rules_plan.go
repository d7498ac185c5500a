package agenttest

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// planRules returns the rules of to-dos and plans.
func planRules() []rule {
	approval := []agent.Capability{agent.Modes, agent.Approval}
	return []rule{
		{name: "the last plan before Idle is up to date", needs: []agent.Capability{agent.Todos}, do: todosAreReported},
		{name: "a plan waits for its approval, and continues in the chosen way", needs: approval, do: planApproved},
		{name: "a refused plan returns to the model with the reason", needs: approval, do: planRefused},
		{name: "the user is asked to approve plans only in plan mode", needs: []agent.Capability{agent.Approval}, do: planInOtherModes},
		{name: "the user is not asked to approve a plan if nobody can answer", needs: approval, do: planWithoutUser},
	}
}

func todosAreReported(s *ruleContext) {
	c := s.open(nil)
	for _, titles := range [][]string{{"read", "write"}, {"rest"}} {
		plans := bodies[event.PlanChanged](c.run(Plan{titles}))
		if len(plans) == 0 {
			s.Fatalf("there is no plan")
		}
		var got []string
		for _, t := range plans[len(plans)-1].Todos {
			if t.ID == "" || t.State != event.TodoCompleted {
				s.Errorf("a to-do at the end: %+v", t)
			}
			got = append(got, t.Title)
		}
		if !slices.Equal(got, titles) {
			s.Errorf("of %q the plan has %q", titles, got)
		}
	}
}

// propose makes the model propose a plan.
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
			s.Errorf("the approved plan ended with %+v", end)
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
		s.Errorf("unexpected questions: %+v", got)
	}
}

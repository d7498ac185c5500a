package agenttest

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// questionRules returns the rules of permissions and questions to the user.
func questionRules() []rule {
	needs := []agent.Capability{agent.Permissions}
	reasons := []agent.Capability{agent.Permissions, agent.Reasons}
	return []rule{
		{name: "a command waits for its permission and then runs", needs: needs, do: permissionGranted, without: noCommandRuns},
		{name: "a refused command does not run", needs: needs, do: refusedCommandDoesNotRun},
		{name: "the reason of a refusal is reported, and the model continues", needs: reasons, do: permissionRefused},
		{name: "a refusal needs no reason", needs: reasons, do: permissionRefusedSilently},
		{name: "an open question keeps the prompt open", needs: needs, do: questionKeepsPromptOpen},
		{name: "a second answer is no error and changes nothing", needs: needs, do: secondAnswer},
		{name: "answering an unknown question is no error", do: answerToUnknownQuestion},
		{name: "the user is asked, and the model sees the answer", needs: []agent.Capability{agent.Questions}, do: userIsAsked, without: noQuestionIsAsked(true)},
		{name: "the user declines to answer, and the model sees the reason", needs: []agent.Capability{agent.Questions}, do: userDeclines},
		{name: "the same question can be asked again", needs: []agent.Capability{agent.Questions}, do: sameQuestionAgain},
		{name: "the user is not asked if nobody can answer", needs: []agent.Capability{agent.Questions}, do: noQuestionIsAsked(false)},
	}
}

func permissionGranted(s *ruleContext) {
	c := s.open(nil)
	c.send(Shell{"printf hello"})
	begin, _ := until[event.ToolStarted](c)
	q := c.asked(event.AskPermission)
	if q.ID == "" || q.Call != begin.ID || q.Title == "" || q.Detail != "printf hello" || !slices.Equal(q.Names, []string{permission.Exec}) {
		s.Errorf("the call %+v has the question %+v", begin, q)
	}
	c.answer(q, event.Answer{Approved: true})
	end := one[event.ToolEnded](s, c.idle(false))
	if end.ID != begin.ID || end.Result == nil {
		s.Fatalf("the call ends with %+v", end)
	}
	s.contains(end.Result.Content, "hello")
}

// noCommandRuns checks that an agent without permission questions does nothing that needs a permission.
func noCommandRuns(s *ruleContext) {
	got := s.open(nil).run(Shell{"printf hello"})
	if len(bodies[event.QuestionAsked](got))+len(bodies[event.ToolStarted](got)) > 0 {
		s.Errorf("unexpected events: %s", show(got))
	}
}

func refusedCommandDoesNotRun(s *ruleContext) {
	c := s.open(nil)
	c.send(Shell{"touch made"})
	c.answer(c.asked(event.AskPermission), event.Answer{})
	if end := one[event.ToolEnded](s, c.idle(false)); end.Error == nil {
		s.Errorf("the call ends with %+v", end)
	}
	if _, err := os.Stat(filepath.Join(c.opening.Directory, "made")); !os.IsNotExist(err) {
		s.Errorf("the command was refused and ran: %v", err)
	}
	s.contains(said(c.run(Say{"on we go"})), "on we go")
}

// refused refuses a command and returns the text of the error.
func refused(s *ruleContext, a event.Answer) string {
	c := s.open(nil)
	c.send(Shell{"printf hello"}, Say{"and on"})
	c.answer(c.asked(event.AskPermission), a)
	got := c.idle(false)
	s.contains(said(got), "and on")
	end := one[event.ToolEnded](s, got)
	if end.Error == nil || len(bodies[event.ToolOutput](got)) > 0 {
		s.Fatalf("the call ends with %s", show(got))
	}
	return end.Error.Text
}

func permissionRefused(s *ruleContext) {
	s.contains(refused(s, event.Answer{Reason: "Not on a Sunday."}), "Not on a Sunday.")
}

func permissionRefusedSilently(s *ruleContext) { refused(s, event.Answer{}) }

func questionKeepsPromptOpen(s *ruleContext) {
	c := s.open(nil)
	c.send(Shell{"printf ok"})
	q := c.asked(event.AskPermission)
	c.assertSilent()
	c.answer(q, event.Answer{Approved: true})
	c.idle(false)
}

func secondAnswer(s *ruleContext) {
	c := s.open(nil)
	c.send(Shell{"printf ok"})
	q := c.asked(event.AskPermission)
	c.answer(q, event.Answer{Approved: true})
	c.answer(q, event.Answer{})
	if end := one[event.ToolEnded](s, c.idle(false)); end.Result == nil {
		s.Errorf("the call ends with %+v", end)
	}
	c.answer(q, event.Answer{})
	c.assertSilent()
}

func answerToUnknownQuestion(s *ruleContext) {
	c := s.open(nil)
	for _, k := range []event.QuestionKind{event.AskPermission, event.AskInput, event.AskPlan, event.AskTool} {
		c.answer(event.Question{ID: "nothing", Kind: k}, event.Answer{Text: "x"})
	}
	c.assertSilent()
}

func userIsAsked(s *ruleContext) {
	c := s.open(nil)
	for _, answer := range []string{"blue", "as the sea"} {
		c.send(Ask{"Which colour?", []string{"red", "blue"}})
		q := c.asked(event.AskInput)
		if q.Text != "Which colour?" || !slices.Equal(q.Choices, []string{"red", "blue"}) || !q.Freeform {
			s.Errorf("the question is %+v", q)
		}
		c.answer(q, event.Answer{Text: answer})
		s.contains(said(c.idle(false)), answer)
	}
}

func userDeclines(s *ruleContext) {
	c := s.open(nil)
	for _, choices := range [][]string{nil, {"red", "blue"}} {
		c.send(Ask{"Which colour?", choices})
		c.answer(c.asked(event.AskInput), event.Answer{Reason: "None of them."})
		s.contains(said(c.idle(false)), "None of them.")
	}
}

func sameQuestionAgain(s *ruleContext) {
	c := s.open(nil)
	c.send(Ask{Question: "Sure?"}, Ask{Question: "Sure?"})
	for _, answer := range []string{"first", "second"} {
		c.answer(c.asked(event.AskInput), event.Answer{Text: answer})
	}
	s.contains(said(c.idle(false)), "second")
}

func noQuestionIsAsked(askUser bool) func(*ruleContext) {
	return func(s *ruleContext) {
		c := s.open(func(o *agent.Opening) { o.AskUser = askUser })
		got := c.run(Ask{Question: "Which?"})
		if asked := bodies[event.QuestionAsked](got); len(asked) > 0 {
			s.Errorf("unexpected questions: %+v", asked)
		}
	}
}

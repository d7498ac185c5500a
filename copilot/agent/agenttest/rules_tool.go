package agenttest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// toolRules returns the rules of client tools.
func toolRules() []rule {
	needs := []agent.Capability{agent.ClientTools}
	return []rule{
		{name: "a client tool is called by its own name, after permission", needs: needs, do: toolCalled, without: toolsAreRefused},
		{name: "a refused client tool is not called", needs: needs, do: toolRefused},
		{name: "the model sees why a client tool failed", needs: needs, do: toolFailed},
		{name: "an undeclared tool is not called", do: toolMissing},
		{name: "a tool with the name of a built-in tool is rejected", needs: needs, do: duplicateToolNames},
		{name: "a tool with an invalid name is rejected", needs: needs, do: invalidToolNames},
		{name: "a resumed conversation has the tools passed when it is opened", needs: []agent.Capability{agent.ClientTools, agent.Resuming}, do: toolsAfterResume},
	}
}

// ideOpen returns a client tool.
func ideOpen() event.Tool {
	return event.Tool{
		Name: "ide.open", Description: "Opens a file in the editor",
		Schema: json.RawMessage(`{"type":"object","properties":{"file":{"type":"string"}}}`),
	}
}

func withTools(o *agent.Opening) { o.Tools = []event.Tool{ideOpen()} }

// call makes the model call the tool, and returns the permission question.
func (c *testConversation) call(then ...Scene) event.Question {
	c.Helper()
	c.send(append([]Scene{Call{"ide.open", `{"file":"a.txt"}`}}, then...)...)
	begin, _ := until[event.ToolStarted](c)
	q := c.asked(event.AskPermission)
	if begin.Name != "ide.open" || q.Call != begin.ID || !slices.Equal(q.Names, []string{"ide.open"}) {
		c.Errorf("the call %+v has the question %+v", begin, q)
	}
	return q
}

// called makes the model call the tool, grants the permission, and returns the question for the result.
func (c *testConversation) called() event.Question {
	c.Helper()
	permission := c.call()
	c.answer(permission, event.Answer{Approved: true})
	q := c.asked(event.AskTool)
	arguments := map[string]string{}
	err := json.Unmarshal(q.Arguments, &arguments)
	if q.Tool != "ide.open" || q.Call != permission.Call || err != nil || arguments["file"] != "a.txt" {
		c.Errorf("the question is %+v with arguments %s", q, q.Arguments)
	}
	return q
}

func toolCalled(s *ruleContext) {
	c := s.open(withTools)
	c.answer(c.called(), event.Answer{Text: "it is open"})
	got := c.idle(false)
	if end := one[event.ToolEnded](s, got); end.Result == nil || end.Result.Content != "it is open" {
		s.Errorf("the call ends with %s", show(got))
	}
	s.contains(said(got), "it is open")
}

func toolRefused(s *ruleContext) {
	c := s.open(withTools)
	c.answer(c.call(Say{"and on"}), event.Answer{Reason: "Not on a Sunday."})
	got := c.idle(false)
	if asked := bodies[event.QuestionAsked](got); len(asked) > 0 {
		s.Errorf("the tool was called: %+v", asked)
	}
	if end := one[event.ToolEnded](s, got); end.Error == nil || !strings.Contains(end.Error.Text, "Not on a Sunday.") {
		s.Errorf("the call ends with %s", show(got))
	}
	s.contains(said(got), "and on")
}

func toolFailed(s *ruleContext) {
	c := s.open(withTools)
	c.answer(c.called(), event.Answer{Failed: true, Reason: "There is no such file."})
	got := c.idle(false)
	if end := one[event.ToolEnded](s, got); end.Error == nil || !strings.Contains(end.Error.Text, "There is no such file.") {
		s.Errorf("the call ends with %s", show(got))
	}
	s.contains(said(got), "There is no such file.")
}

func toolMissing(s *ruleContext) {
	got := s.open(nil).run(Call{"ide.open", "{}"}, Say{"and on"})
	if len(bodies[event.ToolStarted](got)) > 0 {
		s.Errorf("the tool was called: %s", show(got))
	}
	s.contains(said(got), "and on")
}

func toolsAreRefused(s *ruleContext) {
	if _, err := s.tryOpen(withTools); err == nil {
		s.Errorf("Open accepted tools that can never be called")
	}
}

func duplicateToolNames(s *ruleContext) {
	_, err := s.tryOpen(func(o *agent.Opening) { o.Tools = []event.Tool{ideOpen(), {Name: s.subject.OwnTool}} })
	if err == nil || fault.KindOf(err) != fault.Invalid {
		s.Errorf("unexpected error: %v", err)
	}
}

func invalidToolNames(s *ruleContext) {
	for _, name := range []string{"", "open file", "größer"} {
		_, err := s.tryOpen(func(o *agent.Opening) { o.Tools = []event.Tool{{Name: name}} })
		s.fails("the name "+name, err)
	}
}

func toolsAfterResume(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.close()
	again := s.open(func(o *agent.Opening) { *o = c.opening; o.Resume = true; withTools(o) })
	again.answer(again.called(), event.Answer{Text: "it is open"})
	s.contains(said(again.idle(false)), "it is open")
}

package agenttest

import (
	"errors"
	"path/filepath"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// promptRules returns the rules of prompts and responses.
func promptRules() []rule {
	return []rule{
		{name: "a response comes as deltas and as a whole, followed by Idle", do: promptIsAnswered},
		{name: "thoughts of the model are events like texts", needs: []agent.Capability{agent.Reasoning}, do: thoughtIsReported},
		{name: "a long response is complete", do: longAnswerIsComplete},
		{name: "prompts are answered in sequence, and the model knows the earlier ones", do: promptsAreAnsweredInSequence},
		{name: "an error of the model is reported before Idle, and the conversation continues", needs: []agent.Capability{agent.Failures}, do: failureIsReported, without: failureEndsPrompt},
		{name: "tokens are counted", needs: []agent.Capability{agent.Usage, agent.Context}, do: tokensAreCounted},
		{name: "the mode of a prompt reaches the model", needs: []agent.Capability{agent.Modes}, do: modesReachTheModel, without: modesAreRefused},
		{name: "attachments reach the model", needs: []agent.Capability{agent.Attachments}, do: attachmentsReachTheModel, without: attachmentsAreRefused},
		{name: "events of a sub-agent have its id", needs: []agent.Capability{agent.Subagents}, do: subagentsAreNamed},
		{name: "a steering prompt is read before Idle", needs: []agent.Capability{agent.Steering}, do: steeringPromptIsRead, without: steeringIsRefused},
		{name: "a late steering prompt fails", needs: []agent.Capability{agent.Steering}, do: steeringIdleAgent},
		{name: "a steering prompt at the last moment is read, or fails", needs: []agent.Capability{agent.Steering}, do: steeringAtLastMoment},
	}
}

func promptIsAnswered(s *ruleContext) {
	c := s.open(nil)
	got := c.run(Say{"hello world"})
	one[event.MessageStarted](s, got)
	if len(bodies[event.MessageDelta](got)) == 0 {
		s.Errorf("no deltas: %s", show(got))
	}
	if text := said(got); text != "hello world" {
		s.Errorf("the answer is %q", text)
	}
	c.assertSilent()
}

func thoughtIsReported(s *ruleContext) {
	got := s.open(nil).run(Think{}, Say{"hello"})
	id := one[event.ReasoningStarted](s, got).ID
	end := one[event.ReasoningEnded](s, got)
	if len(bodies[event.ReasoningDelta](got)) == 0 || end.ID != id || end.Text == "" {
		s.Errorf("the thought is incomplete: %s", show(got))
	}
}

func longAnswerIsComplete(s *ruleContext) {
	const chunks = 1000
	got := s.open(nil).run(Stream{Chunks: chunks})
	if n := len(bodies[event.MessageDelta](got)); n < 2 || n > chunks {
		s.Errorf("%d chunks became %d deltas", chunks, n)
	}
	if len(said(got)) < chunks {
		s.Errorf("the answer is %q", said(got))
	}
}

func promptsAreAnsweredInSequence(s *ruleContext) {
	c := s.open(nil)
	for _, text := range []string{"a heron", "a wren"} {
		if got := said(c.run(Say{text})); got != text {
			s.Errorf("the answer is %q", got)
		}
	}
	got := said(c.run(Recall{}))
	s.contains(got, "a heron")
	s.contains(got, "a wren")
}

func failureIsReported(s *ruleContext) {
	c := s.open(nil)
	if f := one[event.SessionError](s, c.run(Fail{})); f.Text == "" || f.Kind == "" {
		s.Errorf("the failure is %+v", f)
	}
	s.contains(said(c.run(Say{"on we go"})), "on we go")
}

// failureEndsPrompt checks agents that tell errors of the model as text.
func failureEndsPrompt(s *ruleContext) {
	c := s.open(nil)
	c.run(Fail{})
	s.contains(said(c.run(Say{"on we go"})), "on we go")
}

func tokensAreCounted(s *ruleContext) {
	got := s.open(nil).run(Say{"hello"})
	called := one[event.ModelCalled](s, got)
	if called.Model == "" || called.Input == 0 || called.Output == 0 {
		s.Errorf("the call is %+v", called)
	}
	usage := bodies[event.UsageChanged](got)
	if len(usage) == 0 || usage[0].Used == 0 || usage[0].Limit <= usage[0].Used {
		s.Errorf("the usage is %+v", usage)
	}
}

func modesReachTheModel(s *ruleContext) {
	for _, m := range []event.Mode{event.ModeInteractive, event.ModePlan, event.ModeAutopilot} {
		c := s.open(nil)
		c.prompt(event.Prompt{Text: s.subject.Write(Show{}), Mode: m})
		shown := said(c.idle(false))
		if got := s.subject.Mode(shown); got != m {
			s.Errorf("the mode %s reached the model as %s: %s", m, got, shown)
		}
	}
}

func modesAreRefused(s *ruleContext) {
	c := s.open(nil)
	s.fails("a prompt in the mode plan", c.Send(s.shortContext(), event.Prompt{Text: s.subject.Write(Show{}), Mode: event.ModePlan}))
	c.assertSilent()
}

func attached(s *ruleContext) event.Prompt {
	return event.Prompt{Text: s.subject.Write(Show{}), Attachments: []event.Attachment{
		{Name: "poem.txt", Text: "a heron stands in the reeds"},
		{Name: "pond", Path: filepath.Clean(s.TempDir())},
	}}
}

func attachmentsReachTheModel(s *ruleContext) {
	c := s.open(nil)
	p := attached(s)
	c.prompt(p)
	shown := said(c.idle(false))
	s.contains(shown, "poem.txt")
	s.contains(shown, "a heron stands in the reeds")
	s.contains(shown, p.Attachments[1].Path)
}

func attachmentsAreRefused(s *ruleContext) {
	c := s.open(nil)
	s.fails("a prompt with attachments", c.Send(s.shortContext(), attached(s)))
	c.assertSilent()
}

func subagentsAreNamed(s *ruleContext) {
	got := s.open(nil).run(Delegate{"found it"}, Say{"done"})
	begin, end := one[event.SubagentStarted](s, got), one[event.SubagentEnded](s, got)
	call := one[event.ToolStarted](s, got)
	if begin.Call != call.ID || begin.Name == "" || end.ID != begin.ID || end.Outcome != event.Completed {
		s.Errorf("called by %s, started as %+v, ended as %+v", call.ID, begin, end)
	}
	found := false
	for _, h := range got {
		m, ok := h.body.(event.MessageEnded)
		found = found || ok && h.agent == begin.ID && m.Text == "found it"
	}
	if !found || said(got) != "done" {
		s.Errorf("the texts have wrong authors: %s", show(got))
	}
}

func steeringPromptIsRead(s *ruleContext) {
	c := s.open(nil)
	c.send(Stream{Chunks: 80, Over: 8 * time.Second})
	until[event.MessageDelta](c)
	s.mustSucceed(c.Send(s.shortContext(), c.steer("steered")))
	s.contains(said(c.idle(false)), "steered")
	c.assertSilent()
	s.contains(said(c.run(Recall{})), "steered")
}

func (c *testConversation) steer(text string) event.Prompt {
	return event.Prompt{Text: c.subject.Write(Say{text}), Steer: true}
}

func steeringIsRefused(s *ruleContext) {
	c := s.open(nil)
	c.send(Stream{Chunks: 20, Over: 400 * time.Millisecond})
	until[event.MessageDelta](c)
	s.fails("a prompt that steers", c.Send(s.shortContext(), c.steer("steered")))
	s.lacks(said(c.idle(false)), "steered")
}

func steeringIdleAgent(s *ruleContext) {
	c := s.open(nil)
	for range 2 {
		if err := c.Send(s.shortContext(), c.steer("late")); !errors.Is(err, fault.ErrIdle) {
			s.Errorf("unexpected error: %v", err)
		}
		s.lacks(said(c.run(Say{"hello"})), "late")
	}
}

func steeringAtLastMoment(s *ruleContext) {
	c := s.open(nil)
	for range 5 {
		c.send(Say{"first"})
		until[event.MessageEnded](c)
		err := c.Send(s.shortContext(), c.steer("second"))
		got := said(c.idle(false))
		switch {
		case err == nil:
			s.contains(got, "second")
		case !errors.Is(err, fault.ErrIdle):
			s.Errorf("unexpected error: %v", err)
		default:
			s.lacks(got, "second")
		}
	}
}

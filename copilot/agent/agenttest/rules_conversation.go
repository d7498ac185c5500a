package agenttest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// conversationRules returns the rules of conversations as a whole.
func conversationRules() []rule {
	return []rule{
		{name: "the model can be changed from the next prompt on", needs: []agent.Capability{agent.Switching}, do: modelChanges, without: modelStays},
		{name: "a model that does not exist is refused, or the next prompt fails", do: unknownModels},
		{name: "a compacted conversation keeps its content", needs: []agent.Capability{agent.Compaction}, do: compaction, without: compactionIsRefused},
		{name: "compacting an empty conversation fails and is reported", needs: []agent.Capability{agent.Compaction}, do: compactionOfEmptyConversation},
		{name: "a compaction can be cancelled", needs: []agent.Capability{agent.Compaction}, do: compactionCancelled},
		{name: "a closed conversation can be resumed", needs: []agent.Capability{agent.Resuming}, do: conversationIsResumed, without: missingConversationIsStarted},
		{name: "a conversation that was closed during a prompt can be resumed", needs: []agent.Capability{agent.Resuming, agent.Permissions}, do: conversationIsResumedDuringPrompt},
		{name: "resuming an unknown conversation starts a new one and says so", do: unknownConversation},
		{name: "a session that is opened without resuming starts anew", do: openedWithoutResuming},
		{name: "no events follow Close, and calls fail", do: closed},
		{name: "only the later of two conversations of a session gets events", needs: []agent.Capability{agent.Resuming}, do: laterConversationGetsEvents},
		{name: "concurrent conversations do not mix", do: concurrentConversations},
		{name: "calls with an ended context return and do nothing", do: callsWithEndedContext},
		{name: "the extensions of a conversation are listed", do: extensionsAreListed},
		{name: "a question outside of the conversation leaves no trace", needs: []agent.Capability{agent.Asking}, do: askedOutside, without: askingIsRefused},
	}
}

func models(events []recordedEvent) (list []string) {
	for _, m := range bodies[event.ModelCalled](events) {
		list = append(list, m.Model)
	}
	return list
}

func modelChanges(s *ruleContext) {
	c := s.open(nil)
	before := models(c.run(Say{"a heron"}))
	s.mustSucceed(c.SetModel(s.shortContext(), s.subject.Other))
	changed, _ := until[event.ModelChanged](c)
	if changed.Model != s.subject.Other {
		s.Errorf("the change is %+v", changed)
	}
	got := c.run(Recall{})
	s.contains(said(got), "a heron")
	if after := models(got); s.subject.can(agent.Usage) && fmt.Sprint(before) == fmt.Sprint(after) {
		s.Errorf("the models before and after are the same: %v", after)
	}
}

func modelStays(s *ruleContext) {
	c := s.open(nil)
	s.fails("another model", c.SetModel(s.shortContext(), s.subject.Other))
	s.contains(said(c.run(Say{"hello"})), "hello")
}

func unknownModels(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	if err := c.SetModel(s.shortContext(), "no-such-model"); err == nil {
		one[event.SessionError](s, c.run(Say{"hello"}))
		s.mustSucceed(c.SetModel(s.shortContext(), s.subject.Model))
	}
	s.contains(said(c.run(Say{"on we go"})), "on we go")
}

func compaction(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	s.mustSucceed(c.Compact(s.shortContext()))
	c.assertCompacted()
	begin, _ := until[event.CompactionStarted](c)
	end, _ := until[event.CompactionEnded](c)
	if begin.Used == 0 || end.Before == 0 || end.After == 0 || end.Error != "" {
		s.Errorf("it started as %+v and ended as %+v", begin, end)
	}
	got := c.run(Recall{})
	s.contains(said(got), "a heron")
}

// assertCompacted checks that the end of a compaction was reported before Compact returned: a run ends then.
func (c *testConversation) assertCompacted() {
	c.Helper()
	if len(bodies[event.CompactionEnded](c.all())) == 0 {
		c.Errorf("Compact returned before it reported the end")
	}
}

func compactionIsRefused(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	s.fails("compacting", c.Compact(s.shortContext()))
	c.assertSilent()
}

func compactionOfEmptyConversation(s *ruleContext) {
	c := s.open(nil)
	if err := c.Compact(s.shortContext()); !errors.Is(err, fault.ErrNothingToCompact) {
		s.Errorf("compacting an empty conversation returned %v", err)
	}
	c.assertCompacted()
	if end, _ := until[event.CompactionEnded](c); end.Error == "" {
		s.Errorf("it ended as %+v", end)
	}
	s.contains(said(c.run(Say{"hello"})), "hello")
}

func compactionCancelled(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	ctx, cancel := context.WithCancel(s.Context())
	done := make(chan error, 1)
	go func() { done <- c.Compact(ctx) }()
	until[event.CompactionStarted](c)
	cancel()
	select {
	case err := <-done:
		if err != nil && !errors.Is(err, context.Canceled) { // nil: already done
			s.Errorf("unexpected error: %v", err)
		}
	case <-time.After(late):
		s.Fatalf("Compact does not return")
	}
	until[event.CompactionEnded](c)
	s.contains(said(c.run(Say{"on we go"})), "on we go")
}

func conversationIsResumed(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.close()
	for range 2 {
		again := s.again(c).assertResumed()
		s.contains(said(again.run(Recall{})), "a heron")
		again.close()
	}
}

func missingConversationIsStarted(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.close()
	s.lacks(said(s.again(c).assertNew().run(Recall{})), "a heron")
}

func conversationIsResumedDuringPrompt(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	for _, begin := range []func(){
		func() { c.send(Shell{"printf ok"}); c.asked(event.AskPermission) },
		func() { c.send(Stream{Chunks: 5000, Over: 20 * time.Second}); until[event.MessageDelta](c) },
	} {
		begin()
		c.close()
		c = s.again(c)
		s.contains(said(c.run(Recall{})), "a heron")
	}
}

func unknownConversation(s *ruleContext) {
	c := s.open(func(o *agent.Opening) { o.Resume = true }).assertNew()
	s.contains(said(c.run(Say{"hello"})), "hello")
}

func openedWithoutResuming(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.close()
	again := s.open(func(o *agent.Opening) { *o = c.opening })
	s.lacks(said(again.run(Recall{})), "a heron")
}

func closed(s *ruleContext) {
	c := s.open(nil)
	c.send(Stream{Chunks: 5000, Over: 20 * time.Second})
	until[event.MessageDelta](c)
	c.close()
	before := len(c.all())
	s.fails("Send", c.Send(s.shortContext(), event.Prompt{Text: s.subject.Write(Say{"hello"})}))
	s.fails("SetModel", c.SetModel(s.shortContext(), s.subject.Model))
	s.fails("Compact", c.Compact(s.shortContext()))
	c.close()
	<-time.After(quiet)
	if n := len(c.all()) - before; n > 0 {
		s.Errorf("%d events came after Close", n)
	}
}

func laterConversationGetsEvents(s *ruleContext) {
	first := s.open(nil)
	first.run(Say{"a heron"})
	second := s.again(first)
	first.closed = true
	before := len(first.all())
	s.contains(said(second.run(Recall{})), "a heron")
	if n := len(first.all()) - before; n > 0 {
		s.Errorf("the first conversation received %s", show(first.all()[before:]))
	}
}

func concurrentConversations(s *ruleContext) {
	const many = 5
	var talks []*testConversation
	for i := range many {
		c := s.open(nil)
		c.send(Stream{Chunks: 20, Over: 200 * time.Millisecond}, Say{fmt.Sprintf(" this is number %d.", i)})
		talks = append(talks, c)
	}
	for i, c := range talks {
		got := said(c.idle(false))
		if !strings.HasSuffix(got, fmt.Sprintf("this is number %d.", i)) || strings.Count(got, "number") != 1 {
			s.Errorf("conversation %d says %q", i, got)
		}
	}
}

func askedOutside(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	answer, err := c.Ask(s.shortContext(), s.subject.Write(Say{"an egret"}))
	s.mustSucceed(err)
	s.contains(answer, "an egret")
	c.assertSilent()
	answer, err = c.Ask(s.shortContext(), s.subject.Write(Recall{}))
	s.mustSucceed(err)
	s.contains(answer, "a heron")
	got := said(c.run(Recall{}))
	s.contains(got, "a heron")
	s.lacks(got, "an egret")
}

func askingIsRefused(s *ruleContext) {
	c := s.open(nil)
	_, err := c.Ask(s.shortContext(), s.subject.Write(Say{"an egret"}))
	s.fails("Ask", err)
	s.contains(said(c.run(Say{"hello"})), "hello")
}

func callsWithEndedContext(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	s.fails("Send", c.Send(endedContext(), event.Prompt{Text: s.subject.Write(Say{"never"})}))
	s.fails("Abort", c.Abort(endedContext()))
	s.fails("SetModel", c.SetModel(endedContext(), s.subject.Model))
	s.fails("Compact", c.Compact(endedContext()))
	s.fails("Answer", c.Answer(endedContext(), event.Question{ID: "x", Kind: event.AskPermission}, event.Answer{}))
	_, err := c.Extensions(endedContext())
	s.fails("Extensions", err)
	_, err = s.agent.Open(endedContext(), agent.Opening{Session: uuid.NewString(), Model: s.subject.Model, Directory: s.TempDir()}, func(string, event.Body) {})
	s.fails("Open", err)
	_, err = s.agent.Fork(endedContext(), c.opening.Session, time.Time{})
	s.fails("Fork", err)
	s.fails("Forget", s.agent.Forget(endedContext(), c.opening.Session))
	c.assertSilent()
	got := said(c.run(Recall{}))
	s.contains(got, "a heron")
	s.lacks(got, "never")
}

func extensionsAreListed(s *ruleContext) {
	c := s.open(nil)
	_, err := c.Extensions(s.shortContext())
	s.mustSucceed(err)
}

package agenttest

import (
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// savedRules returns the rules of copying and deleting saved conversations.
func savedRules() []rule {
	return []rule{
		{name: "a copy has the conversation so far and is then independent", needs: []agent.Capability{agent.Forking, agent.Resuming}, do: copied, without: copyingIsRefused},
		{name: "a closed conversation and a copy can be copied", needs: []agent.Capability{agent.Forking, agent.Resuming}, do: copiedTwice},
		{name: "a copy can end before a prompt, also a copy of a copy", needs: []agent.Capability{agent.Forking, agent.Resuming}, do: copiedUntilPrompt},
		{name: "a conversation can be copied during a prompt, which ends in the copy", needs: []agent.Capability{agent.Forking, agent.Resuming, agent.Permissions}, do: copiedDuringPrompt},
		{name: "an unsaved conversation cannot be copied", do: copyOfUnsavedConversation},
		{name: "a forgotten conversation starts anew, and its copy stays", needs: []agent.Capability{agent.Forking, agent.Forgetting, agent.Resuming}, do: forgotten},
		{name: "forgetting an unsaved conversation is no error", needs: []agent.Capability{agent.Forgetting}, do: unsavedConversationForgotten, without: forgettingIsRefused},
	}
}

// fork copies a conversation and opens the copy.
func (s *ruleContext) fork(c *testConversation) *testConversation {
	s.Helper()
	return s.forkBefore(c, time.Time{})
}

// forkBefore is fork up to the first prompt at a time or later.
func (s *ruleContext) forkBefore(c *testConversation, before time.Time) *testConversation {
	s.Helper()
	id, err := s.agent.Fork(s.shortContext(), c.opening.Session, before)
	s.mustSucceed(err)
	if id == "" || id == c.opening.Session {
		s.Fatalf("the copy of %q has the id %q", c.opening.Session, id)
	}
	return s.open(func(o *agent.Opening) { *o = c.opening; o.Session, o.Resume = id, true }).assertResumed()
}

func copied(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	clone := s.fork(c)
	c.run(Say{"an egret"})
	clone.run(Say{"a stork"})
	got := said(clone.run(Recall{}))
	s.contains(got, "a heron")
	s.contains(got, "a stork")
	s.lacks(got, "an egret")
	got = said(c.run(Recall{}))
	s.contains(got, "an egret")
	s.lacks(got, "a stork")
}

func copiedUntilPrompt(s *ruleContext) {
	c := s.open(nil)
	times := []time.Time{}
	for _, bird := range []string{"a heron", "an egret", "a stork", "a crane"} {
		<-time.After(5 * time.Millisecond) // prompts come at different times
		times = append(times, time.Now())
		c.run(Say{bird})
	}
	clone := s.forkBefore(c, times[3])
	got := said(clone.run(Recall{}))
	s.contains(got, "a stork")
	s.lacks(got, "a crane")
	got = said(s.forkBefore(clone, times[2]).run(Recall{}))
	s.contains(got, "an egret")
	s.lacks(got, "a stork")
	s.contains(said(s.forkBefore(c, time.Now().Add(time.Second)).run(Recall{})), "a crane")
}

func copiedTwice(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.close()
	for range 2 {
		c = s.fork(c)
		s.contains(said(c.run(Recall{})), "a heron")
		c.close()
	}
}

func copiedDuringPrompt(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.send(Shell{"printf hello"})
	q := c.asked(event.AskPermission)
	clone := s.fork(c)
	clone.assertSilent()
	s.contains(said(clone.run(Recall{})), "a heron")
	c.answer(q, event.Answer{Approved: true})
	s.contains(said(c.idle(false)), "hello")
}

func copyOfUnsavedConversation(s *ruleContext) {
	_, err := s.agent.Fork(s.shortContext(), uuid.NewString(), time.Time{})
	if err == nil || s.subject.can(agent.Forking) && fault.KindOf(err) != fault.NotFound {
		s.Errorf("unexpected error: %v", err)
	}
}

func copyingIsRefused(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	_, err := s.agent.Fork(s.shortContext(), c.opening.Session, time.Time{})
	s.fails("copying", err)
	s.contains(said(c.run(Say{"hello"})), "hello")
}

func forgotten(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	clone := s.fork(c)
	c.close()
	for range 2 {
		s.mustSucceed(s.agent.Forget(s.shortContext(), c.opening.Session))
	}
	if _, err := s.agent.Fork(s.shortContext(), c.opening.Session, time.Time{}); fault.KindOf(err) != fault.NotFound {
		s.Errorf("copying a forgotten conversation returned %v", err)
	}
	s.lacks(said(s.again(c).assertNew().run(Recall{})), "a heron")
	clone.close()
	s.contains(said(s.again(clone).assertResumed().run(Recall{})), "a heron")
}

func unsavedConversationForgotten(s *ruleContext) {
	s.mustSucceed(s.agent.Forget(s.shortContext(), uuid.NewString()))
}

func forgettingIsRefused(s *ruleContext) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.close()
	s.fails("forgetting", s.agent.Forget(s.shortContext(), c.opening.Session))
}

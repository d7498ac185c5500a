package agenttest

import (
	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// savedRules are about copying and deleting what an agent has saved.
func savedRules() []rule {
	return []rule{
		{name: "a copy knows what was said, and goes its own way", needs: []Ability{Forking, Resuming}, do: copied, without: copyingIsRefused},
		{name: "a closed conversation can be copied, and a copy, too", needs: []Ability{Forking, Resuming}, do: copiedTwice},
		{name: "a conversation can be copied in the middle of a prompt, which ends in the copy", needs: []Ability{Forking, Resuming, Permissions}, do: copiedFromTheMiddle},
		{name: "of what is not saved there is no copy", do: copyOfNothing},
		{name: "what is forgotten begins anew, and its copy stays", needs: []Ability{Forking, Forgetting, Resuming}, do: forgotten},
		{name: "to forget what is not saved is no error", needs: []Ability{Forgetting}, do: nothingForgotten, without: forgettingIsRefused},
	}
}

// fork copies a conversation and opens the copy.
func (s *stage) fork(c *talk) *talk {
	s.Helper()
	id, err := s.agent.Fork(s.brief(), c.opening.Session)
	s.must(err)
	if id == "" || id == c.opening.Session {
		s.Fatalf("the copy of %q is %q", c.opening.Session, id)
	}
	return s.open(func(o *agent.Opening) { *o = c.opening; o.Session, o.Resume = id, true }).whole()
}

func copied(s *stage) {
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

func copiedTwice(s *stage) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.close()
	for range 2 {
		c = s.fork(c)
		s.contains(said(c.run(Recall{})), "a heron")
		c.close()
	}
}

func copiedFromTheMiddle(s *stage) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.send(Shell{"echo hello"})
	q := c.asked(event.AskPermission)
	clone := s.fork(c)
	clone.silence()
	s.contains(said(clone.run(Recall{})), "a heron")
	c.answer(q, event.Answer{Approved: true})
	s.contains(said(c.idle(false)), "hello")
}

func copyOfNothing(s *stage) {
	_, err := s.agent.Fork(s.brief(), uuid.NewString())
	if err == nil || s.subject.can(Forking) && fault.KindOf(err) != fault.NotFound {
		s.Errorf("the error is %v", err)
	}
}

func copyingIsRefused(s *stage) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	_, err := s.agent.Fork(s.brief(), c.opening.Session)
	s.fails("copying", err)
	s.contains(said(c.run(Say{"hello"})), "hello")
}

func forgotten(s *stage) {
	c := s.open(nil)
	c.run(Say{"a heron"})
	clone := s.fork(c)
	c.close()
	for range 2 {
		s.must(s.agent.Forget(s.brief(), c.opening.Session))
	}
	if _, err := s.agent.Fork(s.brief(), c.opening.Session); fault.KindOf(err) != fault.NotFound {
		s.Errorf("what is forgotten is copied with the error %v", err)
	}
	s.lacks(said(s.again(c).anew().run(Recall{})), "a heron")
	clone.close()
	s.contains(said(s.again(clone).whole().run(Recall{})), "a heron")
}

func nothingForgotten(s *stage) { s.must(s.agent.Forget(s.brief(), uuid.NewString())) }

func forgettingIsRefused(s *stage) {
	s.fails("forgetting", s.agent.Forget(s.brief(), uuid.NewString()))
}

package agenttest

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/testclock"
)

// processRules returns the rules of the agent and its process.
func processRules() []rule {
	return []rule{
		{name: "the models are listed", do: modelsAreListed},
		{name: "the account and the extensions are available", do: accountIsAvailable},
		{name: "MCP servers are added, disabled, enabled and removed, and their secrets are kept", needs: []agent.Capability{agent.Storing}, do: serversAreStored},
		{name: "when the process is killed, calls fail, Done is closed, and no events follow", do: killed},
		{name: "a conversation outlives the process", needs: []agent.Capability{agent.Resuming}, do: conversationOutlivesProcess},
		{name: "Stop stops the process in time, whatever it is doing", do: stopped},
		{name: "Stop stops the process at once if its context has ended", do: stoppedAtOnce},
		{name: "a pending question of an unknown conversation is closed at once", do: pendingInUnknownConversation},
	}
}

func modelsAreListed(s *ruleContext) {
	list, err := s.agent.Models(s.shortContext())
	s.mustSucceed(err)
	ids := []string{s.subject.Model}
	if s.subject.can(agent.Switching) {
		ids = append(ids, s.subject.Other)
	}
	for _, id := range ids {
		if !slices.ContainsFunc(list, func(m agent.Model) bool { return m.ID == id && m.Name != "" }) {
			s.Errorf("%s is not among %+v", id, list)
		}
	}
}

func accountIsAvailable(s *ruleContext) {
	_, err := s.agent.Account(s.shortContext())
	s.mustSucceed(err)
	_, err = s.agent.Extensions(s.shortContext(), s.TempDir())
	s.mustSucceed(err)
	was, err := s.agent.SignOut(s.shortContext())
	s.mustSucceed(err)
	if was {
		s.Errorf("SignOut succeeded although nobody was signed in")
	}
}

// busy starts a conversation with a prompt that does not end.
func (s *ruleContext) busy() *testConversation {
	s.Helper()
	c := s.open(nil)
	c.run(Say{"a heron"})
	c.send(Stream{Chunks: 5000, Over: time.Minute})
	until[event.MessageDelta](c)
	return c
}

// gone waits for the end of the agent.
func (s *ruleContext) gone() {
	s.Helper()
	awaitEnd(s, s.agent)
}

func awaitEnd(tb testing.TB, a agent.Agent) {
	tb.Helper()
	if !testclock.Now().Wait(a.Done(), soon) {
		tb.Fatalf("Done is not closed")
	}
}

// assertEnded checks that a conversation has ended with its process.
func (c *testConversation) assertEnded() {
	c.Helper()
	c.closed = true
	before := len(c.all())
	began := testclock.Now()
	for range 2 {
		c.fails("Send", c.Send(c.shortContext(), event.Prompt{Text: c.subject.Write(Say{"hello"})}))
		c.fails("Abort", c.Abort(c.shortContext()))
		c.fails("SetModel", c.SetModel(c.shortContext(), c.subject.Model))
		c.fails("Compact", c.Compact(c.shortContext()))
		c.fails("Answer", c.Answer(c.shortContext(), event.Question{ID: "x", Kind: event.AskPermission}, event.Answer{}))
		_, err := c.agent.Open(c.shortContext(), c.opening, c.sink)
		c.fails("Open", err)
		_, err = c.agent.Account(c.shortContext())
		c.fails("Account", err)
		_, err = c.agent.Fork(c.shortContext(), c.opening.Session, time.Time{})
		c.fails("Fork", err)
		c.fails("Forget", c.agent.Forget(c.shortContext(), c.opening.Session))
		_ = c.Close(c.shortContext()) // may fail because it is too late
		c.gone()
	}
	_, err := c.agent.Models(c.shortContext())
	c.fails("Models", err)
	if took := began.Elapsed(); took > soon {
		c.Errorf("failing calls took %v", took)
	}
	<-time.After(quiet)
	if events := c.all(); len(events) > before {
		c.Errorf("events after the end: %s", show(events[before:]))
	}
}

func killed(s *ruleContext) {
	c := s.busy()
	var calls sync.WaitGroup
	for range 4 { // calls are always in progress
		calls.Go(func() { s.callUntilDeath() })
	}
	s.machine.Kill(s.agent)
	s.gone()
	c.assertEnded()
	calls.Wait()
}

// callUntilDeath calls the agent until calls fail.
func (s *ruleContext) callUntilDeath() {
	ctx, cancel := context.WithTimeout(s.Context(), late)
	defer cancel()
	var err error
	for err == nil {
		o := agent.Opening{Session: uuid.NewString(), Model: s.subject.Model, Directory: s.TempDir()}
		if _, err = s.agent.Open(ctx, o, func(string, event.Body) {}); err == nil {
			_, err = s.agent.Account(ctx)
		}
	}
	if fault.KindOf(err) != fault.Unavailable {
		s.Errorf("a call failed with %v", err)
	}
	if ctx.Err() != nil {
		s.Errorf("a call waits for a dead process")
	}
}

// conversationOutlivesProcess gives the agent time to save the conversation before it stops.
func conversationOutlivesProcess(s *ruleContext) {
	c := s.busy()
	testclock.Settle(saving)
	s.machine.Kill(s.agent)
	s.gone()
	c.closed = true
	s.agent = s.launch()
	s.contains(said(s.again(c).assertResumed().run(Recall{})), "a heron")
}

func stopped(s *ruleContext) {
	c := s.busy()
	ctx, cancel := context.WithTimeout(context.Background(), soon)
	defer cancel()
	began := testclock.Now()
	s.agent.Stop(ctx)
	if took := began.Elapsed(); took > soon+time.Second {
		s.Errorf("Stop took %v", took)
	}
	if !agent.IsClosed(s.agent.Done()) {
		s.Errorf("Done is not closed when Stop returns")
	}
	c.assertEnded()
	s.agent.Stop(ctx) // calling it again is allowed
}

func stoppedAtOnce(s *ruleContext) {
	c := s.busy()
	s.agent.Stop(endedContext())
	c.assertEnded()
}

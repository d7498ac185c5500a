package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// recordedEvent is an event with the sub-agent that did it.
type recordedEvent struct {
	agent string
	body  event.Body
}

// testConversation is a conversation with its events. It is used by the rule's goroutine, except that the
// agent calls sink.
type testConversation struct {
	*ruleContext
	agent.Conversation
	opening agent.Opening
	prompts int  // whose Idle has not come yet
	closed  bool // or its process has ended
	read    int  // number of events that the rule has read

	mu     sync.Mutex
	events []recordedEvent
	more   chan struct{} // closed when there are more events
}

// open opens a conversation that may ask the user.
func (s *ruleContext) open(change func(*agent.Opening)) *testConversation {
	s.Helper()
	c, err := s.tryOpen(change)
	s.mustSucceed(err)
	return c
}

func (s *ruleContext) tryOpen(change func(*agent.Opening)) (*testConversation, error) {
	s.Helper()
	c := &testConversation{ruleContext: s, more: make(chan struct{}), opening: agent.Opening{
		Session: uuid.NewString(), Model: s.subject.Model, Directory: s.TempDir(), AskUser: true,
	}}
	if change != nil {
		change(&c.opening)
	}
	if len(c.opening.Pending) > 0 {
		c.prompts++
	}
	var err error
	if c.Conversation, err = s.agent.Open(s.shortContext(), c.opening, c.sink); err == nil {
		s.conversations = append(s.conversations, c)
	}
	return c, err
}

// again resumes a conversation that was closed or lost, with pending questions.
func (s *ruleContext) again(c *testConversation, pending ...event.Question) *testConversation {
	s.Helper()
	return s.open(func(o *agent.Opening) { *o = c.opening; o.Resume, o.Pending = true, pending })
}

// assertResumed checks that a conversation was resumed instead of started anew.
func (c *testConversation) assertResumed() *testConversation {
	c.Helper()
	if failures := bodies[event.SessionError](c.all()); len(failures) > 0 {
		c.Errorf("it was not resumed: %+v", failures)
	}
	return c
}

// assertNew checks that a conversation was started anew and reported that at once.
func (c *testConversation) assertNew() *testConversation {
	c.Helper()
	if failed := one[event.SessionError](c.ruleContext, c.all()); failed.Kind != fault.Unavailable || failed.Text == "" {
		c.Errorf("the new conversation reports %+v", failed)
	}
	return c
}

func (c *testConversation) sink(agent string, b event.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, recordedEvent{agent, b})
	close(c.more)
	c.more = make(chan struct{})
}

// all returns all events.
func (c *testConversation) all() []recordedEvent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// next returns the next event, or false if none comes in time.
func (c *testConversation) next(limit time.Duration) (recordedEvent, bool) {
	over := time.After(limit)
	for {
		c.mu.Lock()
		events, more := c.events, c.more
		c.mu.Unlock()
		if c.read < len(events) {
			c.read++
			return events[c.read-1], true
		}
		select {
		case <-more:
		case <-over:
			return recordedEvent{}, false
		}
	}
}

// until skips to the next event of a type and returns it with the skipped ones.
func until[B event.Body](c *testConversation) (B, []recordedEvent) {
	c.Helper()
	var passed []recordedEvent
	for {
		h, ok := c.next(late)
		if !ok {
			c.Fatalf("no %T, but %s", *new(B), show(passed))
		}
		passed = append(passed, h)
		if b, ok := h.body.(B); ok {
			return b, passed
		}
	}
}

// assertSilent checks that no unexpected events come. Events about the session may come at any time.
func (c *testConversation) assertSilent() {
	c.Helper()
	for end := time.Now().Add(quiet); ; {
		h, ok := c.next(time.Until(end))
		if !ok {
			return
		}
		switch h.body.(type) {
		case event.Notice, event.TitleChanged, event.UsageChanged, event.ServerChanged:
		default:
			c.Errorf("unexpected events: %s", show([]recordedEvent{h}))
		}
	}
}

// prompt sends a prompt to the agent.
func (c *testConversation) prompt(p event.Prompt) {
	c.Helper()
	c.prompts++
	c.mustSucceed(c.Send(c.shortContext(), p))
}

// send sends a prompt with scenes.
func (c *testConversation) send(scenes ...Scene) {
	c.Helper()
	c.prompt(event.Prompt{Text: c.subject.Write(scenes...)})
}

// run sends scenes and returns the events up to Idle.
func (c *testConversation) run(scenes ...Scene) []recordedEvent {
	c.Helper()
	c.send(scenes...)
	return c.idle(false)
}

// idle waits for the end of a prompt.
func (c *testConversation) idle(aborted bool) []recordedEvent {
	c.Helper()
	i, passed := until[event.Idle](c)
	if i.Aborted != aborted {
		c.Errorf("the prompt ended with %+v", i)
	}
	return passed
}

// asked waits for a question of a kind.
func (c *testConversation) asked(k event.QuestionKind) event.Question {
	c.Helper()
	q, _ := until[event.QuestionAsked](c)
	if q.Question.Kind != k {
		c.Fatalf("the question is %+v, not of kind %s", q.Question, k)
	}
	return q.Question
}

func (c *testConversation) answer(q event.Question, a event.Answer) {
	c.Helper()
	c.mustSucceed(c.Answer(c.shortContext(), q, a))
}

func (c *testConversation) close() {
	c.Helper()
	c.closed = true
	c.mustSucceed(c.Close(c.shortContext()))
}

// finish checks the conversation as a whole and closes it.
func (c *testConversation) finish() {
	c.Helper()
	whole := !c.closed
	if whole {
		c.assertSilent()
		c.close()
	}
	after := len(c.all())
	l := newEventChecker(c)
	for _, h := range c.all() {
		l.add(h)
	}
	if whole && l.idles != c.prompts {
		c.Errorf("%d prompts were sent, but %d ended: %s", c.prompts, l.idles, show(c.all()))
	}
	if n := len(c.all()); n != after {
		c.Errorf("%d events came after Close", n-after)
	}
}

// bodies returns the events of a type.
func bodies[B event.Body](events []recordedEvent) []B {
	var list []B
	for _, h := range events {
		if b, ok := h.body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

// one returns the only event of a type.
func one[B event.Body](s *ruleContext, events []recordedEvent) B {
	s.Helper()
	list := bodies[B](events)
	if len(list) != 1 {
		s.Fatalf("there are %d %T in %s", len(list), *new(B), show(events))
	}
	return list[0]
}

// said returns the texts of the main agent, concatenated.
func said(events []recordedEvent) string {
	var b strings.Builder
	for _, h := range events {
		if m, ok := h.body.(event.MessageEnded); ok && h.agent == "" {
			b.WriteString(m.Text)
		}
	}
	return b.String()
}

func show(events []recordedEvent) string {
	var b strings.Builder
	for _, h := range events {
		fmt.Fprintf(&b, "\n\t[%s] %.300s", h.agent, fmt.Sprintf("%T %+v", h.body, h.body))
	}
	return b.String()
}

// endedContext returns a context that is done.
func endedContext() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

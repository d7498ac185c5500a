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

// heard is an event with the sub-agent that did it.
type heard struct {
	agent string
	body  event.Body
}

// talk is a conversation and what has happened in it. It is used by the rule's
// goroutine; sink alone is called by the agent.
type talk struct {
	*stage
	agent.Conversation
	opening agent.Opening
	prompts int  // that have to come to an Idle
	closed  bool // or its process has ended
	read    int  // how much of what was heard the rule has looked at

	mu     sync.Mutex
	events []heard
	more   chan struct{} // closed when there are more
}

// open begins a conversation, in which the user can be asked.
func (s *stage) open(change func(*agent.Opening)) *talk {
	s.Helper()
	c, err := s.tryOpen(change)
	s.must(err)
	return c
}

func (s *stage) tryOpen(change func(*agent.Opening)) (*talk, error) {
	s.Helper()
	c := &talk{stage: s, more: make(chan struct{}), opening: agent.Opening{
		Session: uuid.NewString(), Model: s.subject.Model, Directory: s.TempDir(), AskUser: true,
	}}
	if change != nil {
		change(&c.opening)
	}
	if len(c.opening.Pending) > 0 {
		c.prompts++
	}
	var err error
	if c.Conversation, err = s.agent.Open(s.brief(), c.opening, c.sink); err == nil {
		s.talks = append(s.talks, c)
	}
	return c, err
}

// again takes a conversation up that was closed or lost, to go on with questions.
func (s *stage) again(c *talk, pending ...event.Question) *talk {
	s.Helper()
	return s.open(func(o *agent.Opening) { *o = c.opening; o.Resume, o.Pending = true, pending })
}

// whole looks that a conversation was taken up and not begun anew.
func (c *talk) whole() *talk {
	c.Helper()
	if failures := bodies[event.SessionError](c.all()); len(failures) > 0 {
		c.Errorf("it was not taken up: %+v", failures)
	}
	return c
}

// anew looks that a conversation was begun anew and has said so at once.
func (c *talk) anew() *talk {
	c.Helper()
	if failed := one[event.SessionError](c.stage, c.all()); failed.Kind != fault.Unavailable || failed.Text == "" {
		c.Errorf("of the new beginning it says %+v", failed)
	}
	return c
}

func (c *talk) sink(agent string, b event.Body) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = append(c.events, heard{agent, b})
	close(c.more)
	c.more = make(chan struct{})
}

// all gives everything that was heard.
func (c *talk) all() []heard {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// next gives the next event, false if none comes in time.
func (c *talk) next(limit time.Duration) (heard, bool) {
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
			return heard{}, false
		}
	}
}

// until skips to the next event of a type and gives it, with all on the way.
func until[B event.Body](c *talk) (B, []heard) {
	c.Helper()
	var passed []heard
	for {
		h, ok := c.next(late)
		if !ok {
			c.Fatalf("%T did not come, but %s", *new(B), show(passed))
		}
		passed = append(passed, h)
		if b, ok := h.body.(B); ok {
			return b, passed
		}
	}
}

// silence listens for what must not come. News of the session may come at any time.
func (c *talk) silence() {
	c.Helper()
	for end := time.Now().Add(quiet); ; {
		h, ok := c.next(time.Until(end))
		if !ok {
			return
		}
		switch h.body.(type) {
		case event.Notice, event.TitleChanged, event.UsageChanged:
		default:
			c.Errorf("this comes unasked: %s", show([]heard{h}))
		}
	}
}

// prompt gives a prompt to the agent.
func (c *talk) prompt(p event.Prompt) {
	c.Helper()
	c.prompts++
	c.must(c.Send(c.brief(), p))
}

// send is prompt with scenes.
func (c *talk) send(scenes ...Scene) {
	c.Helper()
	c.prompt(event.Prompt{Text: c.subject.Write(scenes...)})
}

// run has scenes played and gives what happens up to the agent being idle.
func (c *talk) run(scenes ...Scene) []heard {
	c.Helper()
	c.send(scenes...)
	return c.idle(false)
}

// idle waits for the end of a prompt.
func (c *talk) idle(aborted bool) []heard {
	c.Helper()
	i, passed := until[event.Idle](c)
	if i.Aborted != aborted {
		c.Errorf("the prompt ends with %+v", i)
	}
	return passed
}

// asked waits for a question of a kind.
func (c *talk) asked(k event.QuestionKind) event.Question {
	c.Helper()
	q, _ := until[event.QuestionAsked](c)
	if q.Question.Kind != k {
		c.Fatalf("the question is %+v and not of the kind %s", q.Question, k)
	}
	return q.Question
}

func (c *talk) answer(q event.Question, a event.Answer) {
	c.Helper()
	c.must(c.Answer(c.brief(), q, a))
}

func (c *talk) close() {
	c.Helper()
	c.closed = true
	c.must(c.Close(c.brief()))
}

// finish looks at the conversation as a whole, and closes it.
func (c *talk) finish() {
	c.Helper()
	whole := !c.closed
	if whole {
		c.silence()
		c.close()
	}
	after := len(c.all())
	l := newLedger(c)
	for _, h := range c.all() {
		l.enter(h)
	}
	if whole && l.idles != c.prompts {
		c.Errorf("%d prompts were sent and %d ends came: %s", c.prompts, l.idles, show(c.all()))
	}
	if n := len(c.all()); n != after {
		c.Errorf("%d events came after Close", n-after)
	}
}

// bodies gives the events of a type.
func bodies[B event.Body](events []heard) []B {
	var list []B
	for _, h := range events {
		if b, ok := h.body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

// one gives the only event of a type.
func one[B event.Body](s *stage, events []heard) B {
	s.Helper()
	list := bodies[B](events)
	if len(list) != 1 {
		s.Fatalf("there are %d %T in %s", len(list), *new(B), show(events))
	}
	return list[0]
}

// said is all that the main agent says, as one text.
func said(events []heard) string {
	var b strings.Builder
	for _, h := range events {
		if m, ok := h.body.(event.MessageEnded); ok && h.agent == "" {
			b.WriteString(m.Text)
		}
	}
	return b.String()
}

func show(events []heard) string {
	var b strings.Builder
	for _, h := range events {
		fmt.Fprintf(&b, "\n\t[%s] %.300s", h.agent, fmt.Sprintf("%T %+v", h.body, h.body))
	}
	return b.String()
}

// spent gives a context that is over.
func spent() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

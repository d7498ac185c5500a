package copilot

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
)

// agentLink is a conversation with the agent and the lease that it lives on.
type agentLink struct {
	lease         agent.Lease
	conversation  agent.Conversation
	earlyEvents   []earlyEvent  // what came while the agent opened it
	toolsOutdated bool          // the session has other tools by now; guarded by its lock
	staysUntil    time.Time     // until then it does not move, though it should; used by the loop alone
	released      chan struct{} // closed when the session lets it go
}

// callContext bounds what is said to the agent in the middle of a run. It is patient,
// but not once the conversation is let go, or stop is closed, which may be nil.
// cancel has to be called.
func (l *agentLink) callContext(stop <-chan struct{}) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithTimeout(context.Background(), callTimeout)
	go func() { // until cancel
		select {
		case <-ctx.Done():
			return
		case <-l.released:
		case <-stop:
		}
		select {
		case <-ctx.Done():
		case <-time.After(partTimeout):
			cancel()
		}
	}()
	return ctx, cancel
}

// earlyEvent is an event that has to wait until its conversation is open.
type earlyEvent struct {
	agent string
	body  event.Body
}

// open begins or takes up the conversation on a lease, which it takes over, and
// starts the loop, which Close ends.
func (s *Session) open(ctx context.Context, lease agent.Lease) error {
	l, err := s.openConversation(ctx, lease)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.startLoop(ctx, l)
	return nil
}

// startLoop begins the session's life, or its next one, with a conversation or, with
// nil, without. Called with the lock held.
func (s *Session) startLoop(ctx context.Context, l *agentLink) {
	s.record.Reopen()
	s.closed, s.suspended = false, false
	s.done = make(chan struct{})
	s.recordOutsideRun(event.SessionOpened{Model: s.model.ID, Directory: s.directory})
	if l != nil {
		s.installLink(l)
	}
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.loop(loop, s.done)
}

// ensureConversation gives the session's conversation, opening it where there is none or
// its process has died.
func (s *Session) ensureConversation(ctx context.Context) (*agentLink, error) {
	if agent.IsClosed(s.agentDone()) {
		s.agentExited(nil)
	}
	if agent.IsClosed(s.retired()) {
		s.leaveRetiredAgent(ctx)
	}
	s.dropOutdatedConversation()
	s.mu.Lock()
	l := s.link
	s.mu.Unlock()
	if l != nil {
		return l, nil
	}
	lease, err := s.host.pool.AcquireIn(ctx, s.directory)
	if err != nil {
		return nil, err
	}
	if l, err = s.openConversation(ctx, lease); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installLink(l)
	return l, nil
}

// openConversation opens a conversation on a lease, which it takes over. [Session.installLink]
// makes it that of the session.
func (s *Session) openConversation(ctx context.Context, lease agent.Lease) (*agentLink, error) {
	l := &agentLink{lease: lease, released: make(chan struct{})}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	err := s.resolveModel(ctx, lease.Agent)
	if err == nil {
		l.conversation, err = lease.Agent.Open(ctx, s.beginOpening(l), func(agent string, b event.Body) { s.onAgentEvent(l, agent, b) })
	}
	if err == nil {
		return l, nil
	}
	s.mu.Lock()
	s.opening = nil
	s.mu.Unlock()
	if !errors.Is(err, fault.ErrModelNotFound) {
		err = because(ctx, lease.Agent, err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && caller.Err() == nil {
		lease.Suspect()
		err = fault.Errorf(fault.Unavailable, "the agent did not answer within %v; try again, and if it goes on, start the portal again", openTimeout)
	}
	lease.Release()
	return nil, err
}

// beginOpening notes that a conversation is being opened, and says which.
func (s *Session) beginOpening(l *agentLink) agent.Opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening = l
	o := agent.Opening{Session: s.id, Model: s.model.ID, Directory: s.directory, Resume: !s.neverOpened, AskUser: s.askUser, Tools: s.tools}
	if s.run != nil {
		o.Pending = s.run.pending
	}
	if s.neverOpened { // the agent may know of it from here on, whatever becomes of the call
		s.neverOpened, s.headChanged = false, true
		if !s.closed { // else the store hears of it when it is open
			s.notifyRecorder()
		}
	}
	return o
}

// installLink lets the events of a conversation in, those first that came while it
// was opened. Called with the lock held.
func (s *Session) installLink(l *agentLink) {
	s.link, s.opening = l, nil
	for _, e := range l.earlyEvents {
		s.recordAgentEvent(e.agent, e.body)
	}
	l.earlyEvents = nil
	s.deliverAnswers()
}

// agentDone is closed when the process under the conversation has ended; nil, which
// blocks, while there is none.
func (s *Session) agentDone() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil {
		return nil
	}
	return s.link.lease.Agent.Done()
}

// errLost says that the process has ended.
func errLost() error {
	return fault.Errorf(fault.Unavailable, "the agent's process ended unexpectedly; the next prompt starts it again and goes on with what was said")
}

// because finds out why a call failed: the connection breaks a little before
// its process has ended.
func because(ctx context.Context, a agent.Agent, err error) error {
	select {
	case <-a.Done():
		return errLost()
	case <-ctx.Done():
	case <-time.After(agent.DeathTimeout):
	}
	return err
}

// agentExited lets go of a conversation whose process has ended, says so, and ends the
// run that the agent worked on, if there is one.
func (s *Session) agentExited(r *run) {
	exit := s.exitText()
	s.releaseConversation()
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errLost()
	failure := failed(err)
	failure.Exit = exit
	s.append("", failure)
	if r != nil && s.run == r {
		r.failure = err.Error()
		s.endLocked(r, event.Failed)
	}
}

// exitText says how the process under the conversation has ended, "" if that is not known.
func (s *Session) exitText() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link == nil || !agent.IsClosed(s.link.lease.Agent.Done()) {
		return ""
	}
	return s.link.lease.Agent.Exit()
}

// releaseConversation lets the conversation go. The agent keeps it saved.
func (s *Session) releaseConversation() {
	s.mu.Lock()
	l := s.link
	s.link = nil // from here on its events are ignored
	s.withdraw()
	s.mu.Unlock()
	if l == nil {
		return
	}
	close(l.released)
	s.pendingReplies.Wait() // none is added while there is no link
	if !agent.IsClosed(l.lease.Agent.Done()) {
		ctx, cancel := context.WithTimeout(context.Background(), detachTimeout)
		defer cancel()
		_ = l.conversation.Close(ctx) // nothing to be done about it: the lease goes anyway
	}
	l.lease.Release()
}

// onAgentEvent takes an event of the agent. It runs on the driver's goroutine, which
// serves all sessions of the process: it never waits.
func (s *Session) onAgentEvent(from *agentLink, agent string, b event.Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch from {
	case s.link:
		s.recordAgentEvent(agent, b)
	case s.opening:
		if f, anew := b.(event.SessionError); anew && f.Kind == fault.Unavailable && !s.hasHistory {
			return // there was nothing to take up
		}
		from.earlyEvents = append(from.earlyEvents, earlyEvent{agent, b})
	}
}

// setAgentTitle takes a title of the agent, which it tells again whenever it takes up
// the conversation. Called with the lock held.
func (s *Session) setAgentTitle(agent string, b event.TitleChanged) {
	if title := secret.Mask(b.Title); !s.titledByUser && title != s.title {
		s.title = title
		s.append(agent, b)
	}
}

// isAgentWork says whether an event is something that the agent has said or done, which is lost with its copy of the conversation.
func isAgentWork(b event.Body) bool {
	switch b.(type) {
	case event.MessageStarted, event.MessageDelta, event.MessageEnded, event.ReasoningStarted, event.ReasoningDelta, event.ReasoningEnded, event.ToolStarted, event.PlanChanged:
		return true
	}
	return false
}

// recordAgentEvent puts an event of the agent where it belongs. Called with the lock held.
func (s *Session) recordAgentEvent(agent string, b event.Body) {
	if s.run != nil && isAgentWork(b) {
		s.run.agentWorked = true
		s.noteHistory(s.run)
	}
	switch b := b.(type) {
	case event.Idle:
		s.agentIdle(b)
	case event.SessionError:
		s.fail(agent, b)
	case event.QuestionAsked:
		s.ask(agent, b.Question)
	case event.QuestionClosed:
		if _, open := s.questions[b.ID]; open { // else it is the echo of our own answer
			s.closeQuestion(b)
		}
	case event.ModelChanged:
		s.setAgentModel(b.Model)
	case event.TitleChanged:
		s.setAgentTitle(agent, b)
	default:
		s.append(agent, s.addUsage(b))
	}
}

// addUsage counts the use that an event reports and returns the event with its
// price. Called with the lock held.
func (s *Session) addUsage(b event.Body) event.Body {
	switch b := b.(type) {
	case event.UsageChanged:
		b.Multiplier = s.model.Multiplier
		s.usage.Used, s.usage.Limit = b.Used, b.Limit
		return b
	case event.ModelCalled:
		s.usage.Calls++
		s.usage.Input += b.Input
		s.usage.Output += b.Output
	}
	return b
}

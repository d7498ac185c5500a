package copilot

import (
	"context"
	"errors"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/copilot/session"
)

// agentLink is a conversation with the agent and its lease.
type agentLink struct {
	pool         *agentPool
	lease        agent.Lease
	conversation agent.Conversation
	earlyEvents  []earlyEvent         // events that came while the agent was opening it
	outdated     bool                 // the next prompt needs another conversation; guarded by the session's lock
	servers      []agent.ServerConfig // those of clients, with which it was opened; guarded by the session's lock
	usesFiles    bool                 // it was opened with those of clients; likewise
	staysUntil   time.Time            // earliest time to move to another process when it should; only the loop uses it
	released     chan struct{}        // closed when the session releases the link
}

// callContext limits a call during a run: to 20 s, or to 2 s once the conversation is released or hurry, which may
// be nil, is closed. The caller must call cancel.
func (l *agentLink) callContext(hurry <-chan struct{}) (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithTimeout(context.Background(), callTimeout)
	go func() { // until cancel
		select {
		case <-ctx.Done():
			return
		case <-l.released:
		case <-hurry:
		}
		time.AfterFunc(hurryTimeout, cancel)
	}()
	return ctx, cancel
}

// earlyEvent is an event that waits until its conversation is open.
type earlyEvent struct {
	agent string
	body  event.Body
}

// open opens the conversation on a lease of an agent, which it takes ownership of, and activates the session.
func (s *Session) open(ctx context.Context, on *agentPool, lease agent.Lease) error {
	l, err := s.openConversation(ctx, on, lease)
	if err != nil {
		return err
	}
	if err = s.startLoop(l); err != nil {
		l.close()
	}
	return err
}

// startLoop activates the session, with a conversation or, for nil, without. It fails if the session was evicted while the conversation
// was opened, because another process has acquired it.
func (s *Session) startLoop(l *agentLink) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.evicted {
		s.opening = nil
		return errEvicted
	}
	s.record.Reopen()
	s.life = newLife(s.host.suspendAfter())
	s.append("", "", event.SessionOpened{Model: s.model.ID, Directory: s.directory})
	s.inputLocked((*session.Machine).Activate)
	if l != nil {
		s.installLink(l)
	}
	go s.loop(s.life)
	return nil
}

// ensureConversation opens the conversation unless there is a usable one: its process runs, is not retired,
// and has the session's tools and servers.
func (s *Session) ensureConversation(ctx context.Context) error {
	if agent.IsClosed(s.agentDone()) {
		exit := s.currentLink().exitError()
		s.releaseConversation()
		s.recordError(exit)
	}
	if agent.IsClosed(s.retired()) {
		s.moveIfIdle(ctx)
	}
	s.dropOutdatedConversation()
	if s.currentLink() != nil {
		return nil
	}
	on, lease, err := s.acquireAgent(ctx)
	if err != nil {
		return err
	}
	l, err := s.openConversation(ctx, on, lease)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.installLink(l)
	return nil
}

// currentLink returns nil while there is no conversation.
func (s *Session) currentLink() *agentLink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.link
}

func (s *Session) recordError(e event.SessionError) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.recordInRun("", e)
}

// acquireAgent leases a process of the session's agent.
func (s *Session) acquireAgent(ctx context.Context) (*agentPool, agent.Lease, error) {
	on, err := s.agentPool()
	if err != nil {
		return nil, agent.Lease{}, err
	}
	lease, err := on.pool.AcquireIn(ctx, s.directory)
	return on, lease, err
}

// openConversation opens the conversation on a lease of an agent, which it takes ownership of. [Session.installLink] must follow.
func (s *Session) openConversation(ctx context.Context, on *agentPool, lease agent.Lease) (*agentLink, error) {
	l := &agentLink{pool: on, lease: lease, released: make(chan struct{})}
	caller := ctx
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	defer cancel()
	err := s.resolveModel(ctx, on, lease.Agent)
	if err == nil {
		err = s.fetchConversation(ctx)
	}
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

// beginOpening records that a conversation is being opened, and describes it for the agent.
func (s *Session) beginOpening(l *agentLink) agent.Opening {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opening = l
	resume := s.machine.History() != session.NeverOpened
	pending := s.machine.OpeningConversation()
	s.unstored.head = true
	s.perform()
	l.servers, l.usesFiles = s.host.clientServers.of(s.id), s.usesFiles()
	o := agent.Opening{
		Session: s.id, Model: s.model.ID, Directory: s.directory, Resume: resume, AskUser: s.settings.AskUser, Tools: s.settings.Tools, Servers: l.servers, Pending: pending,
	}
	if l.usesFiles {
		o.Buffer = s.buffer
	}
	return o
}

// installLink makes l the conversation of the session, and records the events that came while it was opened. The caller must
// hold the lock.
func (s *Session) installLink(l *agentLink) {
	s.link, s.opening = l, nil
	s.machine.Attach()
	for _, e := range l.earlyEvents {
		s.recordAgentEvent(e.agent, e.body)
	}
	l.earlyEvents = nil
	s.inputLocked((*session.Machine).SendAnswers)
}

// agentDone returns a channel that is closed when the process of the conversation ends; nil, which blocks, without a conversation.
func (s *Session) agentDone() <-chan struct{} {
	l := s.currentLink()
	if l == nil {
		return nil
	}
	return l.lease.Agent.Done()
}

// errLost reports that the process has ended.
func errLost() error {
	return fault.Errorf(fault.Unavailable, "the agent's process ended unexpectedly; the next prompt starts it again and continues the conversation")
}

// deathTimeout is how long a failed call waits for the end of its process.
const deathTimeout = 500 * time.Millisecond

// because returns why a call failed. The connection of a process breaks slightly before its end is noticed.
func because(ctx context.Context, a agent.Agent, err error) error {
	select {
	case <-a.Done():
		return errLost()
	case <-ctx.Done():
	case <-time.After(deathTimeout):
	}
	return err
}

// failed returns why a call with a time limit of the session failed. task is what the agent should have done.
func (l *agentLink) failed(ctx context.Context, err error, task string) error {
	err = because(ctx, l.lease.Agent, err)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fault.Errorf(fault.Timeout, "the agent did not %s", task)
	}
	return err
}

// reportAgentExit reports the end of the conversation's process to the machine.
func (s *Session) reportAgentExit() {
	if l := s.currentLink(); l != nil {
		exit := l.exitError()
		s.input(func(m *session.Machine) { m.Exited(exit) })
	}
}

// exitError describes how the process of the conversation ended.
func (l *agentLink) exitError() event.SessionError {
	failure := event.NewSessionError(errLost())
	failure.Exit = l.lease.Agent.Exit()
	return failure
}

// releaseConversation closes the conversation. The agent keeps a saved copy.
func (s *Session) releaseConversation() {
	s.mu.Lock()
	l := s.link
	s.link = nil // its later events are ignored
	s.inputLocked((*session.Machine).Detach)
	s.mu.Unlock()
	if l == nil {
		return
	}
	s.awaitReplies(l)
	l.close()
}

// close closes the conversation and releases its lease.
func (l *agentLink) close() {
	ctx, cancel := context.WithTimeout(context.Background(), detachTimeout)
	defer cancel()
	_ = l.conversation.Close(ctx) // the lease is released in any case
	l.lease.Release()
}

// awaitReplies hurries and awaits the calls to a conversation that the session has released.
func (s *Session) awaitReplies(l *agentLink) {
	close(l.released)
	s.pendingReplies.Wait() // none is added without a link
}

// send gives the agent a prompt.
func (l *agentLink) send(ctx context.Context, p event.Prompt) error {
	if err := l.conversation.Send(ctx, p); err != nil {
		return l.failed(ctx, err, "accept the prompt in time; send it again")
	}
	return nil
}

// onAgentEvent receives an event of the agent. It runs on the driver's goroutine, which serves all sessions of the process,
// so it must not wait.
func (s *Session) onAgentEvent(from *agentLink, agent string, b event.Body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch from {
	case s.link:
		s.recordAgentEvent(agent, b)
	case s.opening:
		if f, anew := b.(event.SessionError); anew && f.Kind == fault.Unavailable && s.machine.History() != session.HasContent {
			return // there was no conversation to resume
		}
		from.earlyEvents = append(from.earlyEvents, earlyEvent{agent, b})
	}
}

// setAgentTitle stores a title of the agent, which repeats it whenever it resumes the conversation. The caller must hold the
// lock.
func (s *Session) setAgentTitle(agent string, b event.TitleChanged) {
	if title := secret.Mask(b.Title); s.titledBy == titleByAgent && title != s.title {
		s.title = title
		s.recordInRun(agent, b)
	}
}

// isAgentWork reports whether losing the agent's copy of the conversation would lose the event.
func isAgentWork(b event.Body) bool {
	switch b.(type) {
	case event.MessageStarted, event.MessageDelta, event.MessageEnded, event.ReasoningStarted, event.ReasoningDelta, event.ReasoningEnded, event.ToolStarted, event.PlanChanged:
		return true
	}
	return false
}

// recordAgentEvent records an event of the agent or passes it to the machine. The caller must hold the lock.
func (s *Session) recordAgentEvent(agent string, b event.Body) {
	if isAgentWork(b) {
		s.machine.Worked()
		s.perform()
	}
	switch b := b.(type) {
	case event.Idle:
		s.inputLocked(func(m *session.Machine) { m.Idle(b) })
	case event.SessionError:
		s.inputLocked(func(m *session.Machine) { m.Fail(agent, b) })
	case event.QuestionAsked:
		s.ask(agent, b.Question)
	case event.QuestionClosed:
		s.inputLocked(func(m *session.Machine) { m.CloseQuestion(b) })
	case event.ModelChanged:
		s.setAgentModel(b.Model)
	case event.TitleChanged:
		s.setAgentTitle(agent, b)
	default:
		s.recordInRun(agent, s.addUsage(b))
	}
}

// addUsage adds the usage that an event reports, and returns the event with the model's multiplier. The caller must hold the
// lock.
func (s *Session) addUsage(b event.Body) event.Body {
	switch b := b.(type) {
	case event.UsageChanged:
		b.Multiplier = s.model.Multiplier
		s.settings.Usage.Used, s.settings.Usage.Limit = b.Used, b.Limit
		return b
	case event.ModelCalled:
		s.settings.Usage.Calls++
		s.settings.Usage.Input += b.Input
		s.settings.Usage.Output += b.Output
	}
	return b
}

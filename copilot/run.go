package copilot

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/google/uuid"
)

// How long the agent gets for things that it should do at once.
const (
	openTimeout   = 30 * time.Second
	sendTimeout   = 30 * time.Second
	modelTimeout  = 10 * time.Second
	abortTimeout  = 2 * time.Second
	callTimeout   = 20 * time.Second // for what is said in the middle of a run: a busy machine must not cost it
	partTimeout   = 2 * time.Second  // for the same, once nobody wants it any more
	detachTimeout = time.Second

	compactTimeout = 5 * time.Minute // the model reads the whole conversation
)

// deltaRetention is how long deltas stay in the record after their run has ended,
// for readers that lag behind.
const deltaRetention = time.Minute

// run is the work on one prompt. What changes is guarded by the session's lock.
type run struct {
	id              string
	prompt          event.Prompt
	tools           *[]event.Tool      // that the session has from it on; nil: those that it has
	ended           chan struct{}      // closed when RunEnded stands in the record
	stopping        chan struct{}      // closed when it is to be ended
	cancel          context.CancelFunc // makes the loop end it; nil until the loop has taken it up
	cancelled       bool               // somebody wanted it to end
	compactsFirst   bool               // there is no prompt: the agent is to sum up what was said
	sentToAgent     bool               // the agent is being given the prompt or has it
	acceptedByAgent bool               // the agent has it
	agentWorked     bool               // the agent has said or done something since it began
	steers          []event.Prompt     // to be given to the agent while it works on this
	steering        bool               // a goroutine does that
	queued          bool               // it waits for a place among all runs
	hasSlot         bool               // it has been given one
	slotCounted     bool               // it takes it: not while it waits for a person
	idle            *event.Idle        // the agent's word, which waits for that goroutine
	excerptCache    string             // the beginning of the prompt as lists tell it; "" until that is asked for
	storedLine      []byte             // the prompt as the store has it while it waits; nil until that is asked for
	failure         string             // the last error on the way
	pending         []event.Question   // of a run that the portal was cut off from: the agent waits for their answers
	answers         []pendingAnswer    // what was answered before the agent could be told
}

// newRun is the run of a prompt of its own, which steers nothing and may wait.
func newRun(p event.Prompt) *run {
	tools := p.Tools
	p.Steer, p.RefuseIfBusy, p.Tools = false, false, nil
	return &run{id: uuid.NewString(), prompt: p, tools: tools, ended: make(chan struct{}), stopping: make(chan struct{})}
}

// startRun makes r the current run. Called with the lock held.
func (s *Session) startRun(r *run) {
	s.run = r
	if r.tools != nil {
		s.replaceTools(*r.tools)
	}
	s.host.counts.started.Add(1)
	s.append("", event.RunStarted{})
	if !r.compactsFirst {
		s.append("", event.UserMessage{Prompt: r.prompt})
	}
	s.wakeLoop()
}

// loop performs runs until ctx ends, then closes the session.
func (s *Session) loop(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	idle := time.NewTimer(s.host.suspendAfter())
	defer idle.Stop()
	for ctx.Err() == nil {
		if r := s.current(); r != nil {
			s.performRun(ctx, r)
			idle.Reset(s.host.suspendAfter())
			continue
		}
		select {
		case <-ctx.Done():
		case <-idle.C:
			if s.suspend(ctx) {
				return
			}
			idle.Reset(s.host.suspendAfter())
		case <-s.wake:
		case <-s.agentDone():
			s.agentExited(nil)
		case <-s.retired():
			s.leaveRetiredAgent(ctx)
		}
	}
	s.finishLoop()
}

func (s *Session) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// performRun brings a run to its end, which comes from the agent's word, by
// [Session.agentIdle], or from here.
func (s *Session) performRun(ctx context.Context, r *run) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.prepareRun(r, cancel)
	s.acquireSlot(ctx, r)
	defer s.releaseSlot(r)
	s.awaitLateAnswer(ctx, r)
	if ctx.Err() != nil {
		if !s.canLeaveRunOpen(r) {
			s.end(r, event.Cancelled) // the agent does not hear of it
		}
		return
	}
	l, err := s.ensureConversation(ctx)
	switch {
	case ctx.Err() != nil: // cancelled before the agent was told of it
		s.end(r, event.Cancelled)
	case err != nil:
		s.failRun(r, err)
	case r.pending != nil:
		s.await(ctx, l, r)
	default:
		s.executeRun(ctx, l, r)
	}
}

func (s *Session) prepareRun(r *run, cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.cancel = cancel
	if r.cancelled {
		cancel()
	}
}

// executeRun gives the prompt to the agent and waits for the end of the run.
func (s *Session) executeRun(ctx context.Context, l *agentLink, r *run) {
	if r.prompt.Compact && !s.compact(ctx, l, r) {
		return
	}
	err := s.send(ctx, l, r)
	if err != nil && ctx.Err() == nil {
		s.releaseConversation() // it may have taken the prompt all the same
		s.failRun(r, err)
		return
	}
	s.await(ctx, l, r)
}

// await waits for the end of a run, or for a reason to end it.
func (s *Session) await(ctx context.Context, l *agentLink, r *run) {
	quiet := newIdleProbe(s.record.Last())
	defer quiet.timer.Stop()
	for {
		select {
		case <-r.ended:
			return
		case <-l.lease.Agent.Done():
			s.agentExited(r)
			return
		case <-ctx.Done():
			if !s.canLeaveRunOpen(r) {
				s.abortAgent(context.WithoutCancel(ctx), l, r)
			}
			return
		case <-quiet.timer.C:
			if s.agentForgotIdle(ctx, l, quiet) && !s.endSilentRun(r, quiet.last) {
				quiet.reset(idleProbeFirst, false)
			}
		}
	}
}

func (s *Session) send(ctx context.Context, l *agentLink, r *run) error {
	s.mu.Lock()
	r.sentToAgent = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := l.conversation.Send(ctx, r.prompt); err != nil {
		return because(ctx, l.lease.Agent, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.acceptedByAgent = true
	s.noteHistory(r)
	s.deliverSteers(r)
	return nil
}

// noteHistory notes that something would be lost with the agent's copy: what it has said or done about a prompt that it has taken.
// Called with the lock held.
func (s *Session) noteHistory(r *run) {
	if !s.hasHistory && r.acceptedByAgent && r.agentWorked {
		s.hasHistory = true
		s.storeHead()
	}
}

// abortAgent tells the agent to stop and waits until it has. An agent that does not
// is let go, so that nothing late reaches the next run.
func (s *Session) abortAgent(ctx context.Context, l *agentLink, r *run) {
	if agent.IsClosed(r.ended) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, abortTimeout)
	defer cancel()
	if err := l.conversation.Abort(ctx); err == nil {
		select {
		case <-r.ended:
			return
		case <-l.lease.Agent.Done():
		case <-ctx.Done():
		}
	}
	s.releaseConversation()
	s.end(r, event.Cancelled)
}

// agentIdle is the agent's word that it has nothing left to do. It may also come
// when the agent did something without a prompt. Called with the lock held.
func (s *Session) agentIdle(i event.Idle) {
	switch {
	case s.run == nil || !s.run.sentToAgent:
	case s.run.steering: // it may have read what is on its way
		s.run.idle = &i
	default:
		s.endRunIdle(s.run, i)
	}
}

func (s *Session) endRunIdle(r *run, i event.Idle) {
	if i.Aborted {
		s.endLocked(r, event.Cancelled)
		return
	}
	s.endLocked(r, event.Completed)
}

// failRun ends a run by a failure.
func (s *Session) failRun(r *run, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run != r {
		return
	}
	s.append("", failed(err))
	r.failure = err.Error()
	s.endLocked(r, event.Failed)
}

// end puts the end of a run into the record, once.
func (s *Session) end(r *run, o event.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(r, o)
}

// endLocked is end with the lock held. The next run begins at once, so that
// there is always one to be cancelled while prompts wait.
func (s *Session) endLocked(r *run, o event.Outcome) {
	if s.run != r {
		return
	}
	switch {
	case s.closed && s.suspended && !r.cancelled:
		o = event.Interrupted
	case r.cancelled || s.closed:
		o = event.Cancelled
	case r.failure != "":
		o = event.Failed
	}
	s.withdraw()
	s.host.counts.end(o)
	last := s.append("", event.RunEnded{Outcome: o, Text: r.failure})
	s.run = nil
	close(r.ended)
	lost := requeueSteers(r)
	if !s.closed || s.suspended {
		s.queue = append(lost, s.queue...)
	}
	time.AfterFunc(deltaRetention, func() { s.record.Trim(last) })
	s.beginNext(len(lost) > 1)
}

// beginNext begins the next run that waits. If more are there than were told so far,
// that is told. Called with the lock held.
func (s *Session) beginNext(isNews bool) {
	if len(s.queue) == 0 {
		return
	}
	next := s.queue[0]
	s.queue = s.queue[1:]
	s.startRun(next)
	if isNews && len(s.queue) > 0 {
		s.reportQueue()
	}
}

func failed(err error) event.SessionError {
	return event.SessionError{Kind: fault.KindOf(err), Text: err.Error()}
}

// fail records a failure, and keeps it as the reason of the run that the agent
// works on. Called with the lock held.
func (s *Session) fail(agent string, f event.SessionError) {
	if s.run != nil && s.run.sentToAgent {
		s.run.failure = f.Text
	}
	s.append(agent, f)
}

// finishLoop closes the session at the end of its loop.
func (s *Session) finishLoop() {
	if s.leaveRunOpen() {
		s.host.sessionClosed()
		return
	}
	s.releaseConversation()
	s.mu.Lock()
	for s.run != nil { // begun, but the loop had to end first
		s.endLocked(s.run, event.Cancelled)
	}
	s.append("", event.SessionClosed{})
	s.record.Close()
	s.recordEnded = true
	s.storeHead()
	s.mu.Unlock()
	s.host.sessionClosed()
}

// append records an event as it may be shown. Called with the lock held.
func (s *Session) append(agent string, b event.Body) uint64 {
	for _, e := range s.masks.Owed(b) {
		s.appendMasked(e.Agent, e.Body)
	}
	if _, over := b.(event.RunEnded); over {
		for _, open := range s.blocks.Open() {
			s.appendMasked(open.Agent, open.EndEvent())
		}
	}
	if b = s.masks.Mask(agent, b); b == nil {
		return s.record.Last()
	}
	return s.appendMasked(agent, b)
}

func (s *Session) appendMasked(agent string, b event.Body) uint64 {
	e := event.Event{Time: time.Now(), Agent: agent, Body: b}
	if s.run != nil {
		e.Run = s.run.id
	}
	n, err := s.record.Append(e)
	if err != nil { // closed: nobody can be interested any more
		return s.record.Last()
	}
	s.host.counts.events.Add(1)
	s.blocks.Apply(e)
	s.noteForStore(n, e)
	return n
}

// noteForStore keeps what the store has to know of an event. Called with the lock held.
func (s *Session) noteForStore(n uint64, e event.Event) {
	switch b := e.Body.(type) {
	case event.SessionOpened, event.SessionClosed: // perhaps as the portal began or ended: nothing happens in the session
		s.notifyRecorder()
		return
	case event.RunEnded:
		s.lastRunEnd, s.headChanged = n, true
	case event.RunStarted:
		s.recent.run, s.headChanged = e.Run, true
	case event.UserMessage:
		s.recent.addPrompt(b.Prompt)
		s.headChanged = true
	case event.ModelChanged, event.TitleChanged, event.UsageChanged, event.ModelCalled:
		s.headChanged = true
	}
	s.lastChange = e.Time
	s.notifyRecorder()
}

// storeHead makes the store know what has changed in the session without an event.
// Called with the lock held.
func (s *Session) storeHead() {
	s.headChanged = true
	s.notifyRecorder()
}

// notifyRecorder makes the recorder look at the session. Called with the lock held.
func (s *Session) notifyRecorder() {
	if r := s.host.recorder; r != nil && !s.recorderNotified {
		s.recorderNotified = true
		r.notify(s)
	}
}

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
	errandTimeout = 20 * time.Second // for what is said in the middle of a run: a busy machine must not cost it
	partTimeout   = 2 * time.Second  // for the same, once nobody wants it any more
	detachTimeout = time.Second

	compactTimeout = 5 * time.Minute // the model reads the whole conversation
)

// keepDeltas is how long deltas stay in the record after their run has ended,
// for readers that lag behind.
const keepDeltas = time.Minute

// run is the work on one prompt. What changes is guarded by the session's lock.
type run struct {
	id        string
	prompt    event.Prompt
	tools     *[]event.Tool      // that the session has from it on; nil: those that it has
	ended     chan struct{}      // closed when RunEnded stands in the record
	stopping  chan struct{}      // closed when it is to be ended
	cancel    context.CancelFunc // makes the loop end it; nil until the loop has taken it up
	cancelled bool               // somebody wanted it to end
	compacts  bool               // there is no prompt: the agent is to sum up what was said
	sent      bool               // the agent is being given the prompt or has it
	taken     bool               // the agent has it
	worked    bool               // the agent has said or done something since it began
	steers    []event.Prompt     // to be given to the agent while it works on this
	steering  bool               // a goroutine does that
	queued    bool               // it waits for a place among all runs
	placed    bool               // it has been given one
	counted   bool               // it takes it: not while it waits for a person
	idle      *event.Idle        // the agent's word, which waits for that goroutine
	short     string             // the beginning of the prompt as lists tell it; "" until that is asked for
	line      []byte             // the prompt as the store has it while it waits; nil until that is asked for
	failure   string             // the last error on the way
	pending   []event.Question   // of a run that the portal was cut off from: the agent waits for their answers
	answers   []answered         // what was answered before the agent could be told
}

// newRun is the run of a prompt of its own, which steers nothing and may wait.
func newRun(p event.Prompt) *run {
	tools := p.Tools
	p.Steer, p.Alone, p.Tools = false, false, nil
	return &run{id: uuid.NewString(), prompt: p, tools: tools, ended: make(chan struct{}), stopping: make(chan struct{})}
}

// begin makes r the current run. Called with the lock held.
func (s *Session) begin(r *run) {
	s.run = r
	if r.tools != nil {
		s.retool(*r.tools)
	}
	s.host.counts.started.Add(1)
	s.append("", event.RunStarted{})
	if !r.compacts {
		s.append("", event.UserMessage{Prompt: r.prompt})
	}
	s.nudge()
}

// loop performs runs until ctx ends, then closes the session.
func (s *Session) loop(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	idle := time.NewTimer(s.host.idleAfter())
	defer idle.Stop()
	for ctx.Err() == nil {
		if r := s.current(); r != nil {
			s.perform(ctx, r)
			idle.Reset(s.host.idleAfter())
			continue
		}
		select {
		case <-ctx.Done():
		case <-idle.C:
			if s.lieDown(ctx) {
				return
			}
			idle.Reset(s.host.idleAfter())
		case <-s.wake:
		case <-s.lost():
			s.lose(nil)
		case <-s.retired():
			s.move(ctx)
		}
	}
	s.finish()
}

func (s *Session) current() *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.run
}

// perform brings a run to its end, which comes from the agent's word, by
// [Session.idle], or from here.
func (s *Session) perform(ctx context.Context, r *run) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.takeUp(r, cancel)
	s.place(ctx, r)
	defer s.unplace(r)
	s.awaitAnswer(ctx, r)
	if ctx.Err() != nil {
		if !s.parks(r) {
			s.end(r, event.Cancelled) // the agent does not hear of it
		}
		return
	}
	l, err := s.attach(ctx)
	switch {
	case ctx.Err() != nil: // cancelled before the agent was told of it
		s.end(r, event.Cancelled)
	case err != nil:
		s.giveUp(r, err)
	case r.pending != nil:
		s.await(ctx, l, r)
	default:
		s.work(ctx, l, r)
	}
}

func (s *Session) takeUp(r *run, cancel context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.cancel = cancel
	if r.cancelled {
		cancel()
	}
}

// work gives the prompt to the agent and waits for the end of the run.
func (s *Session) work(ctx context.Context, l *link, r *run) {
	if r.prompt.Compact && !s.compact(ctx, l, r) {
		return
	}
	err := s.send(ctx, l, r)
	if err != nil && ctx.Err() == nil {
		s.detach() // it may have taken the prompt all the same
		s.giveUp(r, err)
		return
	}
	s.await(ctx, l, r)
}

// await waits for the end of a run, or for a reason to end it.
func (s *Session) await(ctx context.Context, l *link, r *run) {
	quiet := newQuiet(s.record.Last())
	defer quiet.timer.Stop()
	for {
		select {
		case <-r.ended:
			return
		case <-l.lease.Agent.Done():
			s.lose(r)
			return
		case <-ctx.Done():
			if !s.parks(r) {
				s.abort(context.WithoutCancel(ctx), l, r)
			}
			return
		case <-quiet.timer.C:
			if s.forgotten(ctx, l, quiet) && !s.endForgotten(r, quiet.last) {
				quiet.again(quietFirst, false)
			}
		}
	}
}

func (s *Session) send(ctx context.Context, l *link, r *run) error {
	s.mu.Lock()
	r.sent = true
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	if err := l.conversation.Send(ctx, r.prompt); err != nil {
		return because(ctx, l.lease.Agent, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.taken = true
	s.noteSaid(r)
	s.deliver(r)
	return nil
}

// noteSaid notes that something would be lost with the agent's copy: what it has said or done about a prompt that it has taken.
// Called with the lock held.
func (s *Session) noteSaid(r *run) {
	if !s.said && r.taken && r.worked {
		s.said = true
		s.renew()
	}
}

// abort tells the agent to stop and waits until it has. An agent that does not
// is let go, so that nothing late reaches the next run.
func (s *Session) abort(ctx context.Context, l *link, r *run) {
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
	s.detach()
	s.end(r, event.Cancelled)
}

// idle is the agent's word that it has nothing left to do. It may also come
// when the agent did something without a prompt. Called with the lock held.
func (s *Session) idle(i event.Idle) {
	switch {
	case s.run == nil || !s.run.sent:
	case s.run.steering: // it may have read what is on its way
		s.run.idle = &i
	default:
		s.endByIdle(s.run, i)
	}
}

func (s *Session) endByIdle(r *run, i event.Idle) {
	if i.Aborted {
		s.endLocked(r, event.Cancelled)
		return
	}
	s.endLocked(r, event.Completed)
}

// giveUp ends a run by a failure.
func (s *Session) giveUp(r *run, err error) {
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
	case s.closed && s.rests && !r.cancelled:
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
	lost := late(r)
	if !s.closed || s.rests {
		s.queue = append(lost, s.queue...)
	}
	time.AfterFunc(keepDeltas, func() { s.record.Trim(last) })
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
	s.begin(next)
	if isNews && len(s.queue) > 0 {
		s.requeue()
	}
}

func failed(err error) event.SessionError {
	return event.SessionError{Kind: fault.KindOf(err), Text: err.Error()}
}

// fail records a failure, and keeps it as the reason of the run that the agent
// works on. Called with the lock held.
func (s *Session) fail(agent string, f event.SessionError) {
	if s.run != nil && s.run.sent {
		s.run.failure = f.Text
	}
	s.append(agent, f)
}

// finish closes the session at the end of its loop.
func (s *Session) finish() {
	if s.park() {
		s.host.tidy()
		return
	}
	s.detach()
	s.mu.Lock()
	for s.run != nil { // begun, but the loop had to end first
		s.endLocked(s.run, event.Cancelled)
	}
	s.append("", event.SessionClosed{})
	s.record.Close()
	s.over = true
	s.renew()
	s.mu.Unlock()
	s.host.tidy()
}

// append records an event as it may be shown. Called with the lock held.
func (s *Session) append(agent string, b event.Body) uint64 {
	for _, e := range s.masks.Owed(b) {
		s.put(e.Agent, e.Body)
	}
	if _, over := b.(event.RunEnded); over {
		for _, open := range s.blocks.Open() {
			s.put(open.Agent, open.End())
		}
	}
	if b = s.masks.Mask(agent, b); b == nil {
		return s.record.Last()
	}
	return s.put(agent, b)
}

func (s *Session) put(agent string, b event.Body) uint64 {
	e := event.Event{Time: now(), Agent: agent, Body: b}
	if s.run != nil {
		e.Run = s.run.id
	}
	n, err := s.record.Append(e)
	if err != nil { // closed: nobody can be interested any more
		return s.record.Last()
	}
	s.host.counts.events.Add(1)
	s.blocks.Take(e)
	s.note(n, e)
	return n
}

// note keeps what the store has to know of an event. Called with the lock held.
func (s *Session) note(n uint64, e event.Event) {
	switch b := e.Body.(type) {
	case event.SessionOpened, event.SessionClosed: // perhaps as the portal began or ended: nothing happens in the session
		s.mark()
		return
	case event.RunEnded:
		s.settled, s.newHead = n, true
	case event.RunStarted:
		s.lately.run, s.newHead = e.Run, true
	case event.UserMessage:
		s.lately.take(b.Prompt)
		s.newHead = true
	case event.ModelChanged, event.TitleChanged, event.UsageChanged, event.ModelCalled:
		s.newHead = true
	}
	s.changed = e.Time
	s.mark()
}

// renew makes the store know what has changed in the session without an event.
// Called with the lock held.
func (s *Session) renew() {
	s.newHead = true
	s.mark()
}

// mark makes the recorder look at the session. Called with the lock held.
func (s *Session) mark() {
	if r := s.host.recorder; r != nil && !s.marked {
		s.marked = true
		r.mark(s)
	}
}

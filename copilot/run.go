package copilot

import (
	"context"
	"time"
)

// How long the agent gets for things that it should do at once.
const (
	sendTimeout   = 30 * time.Second
	abortTimeout  = 2 * time.Second
	answerTimeout = 2 * time.Second
	detachTimeout = time.Second
	deathTimeout  = 500 * time.Millisecond // from a broken connection to the end of its process
)

// keepDeltas is how long deltas stay in the record after their run has ended,
// for readers that lag behind.
const keepDeltas = time.Minute

// run is the work on one prompt. failure and cancelled are guarded by the
// session's lock.
type run struct {
	id        string
	prompt    Prompt
	ended     chan struct{}      // closed when RunEnded stands in the record
	cancel    context.CancelFunc // makes the loop end it
	cancelled bool               // somebody wanted it to end
	failure   string             // the last error that the agent told of
}

// link is a conversation with the agent and the lease that it lives on.
type link struct {
	lease        Lease
	conversation Conversation // nil until the agent has opened it
}

// open begins or takes up the conversation and starts the loop, which Close ends.
func (s *Session) open(ctx context.Context) error {
	resume := s.record.Last() > 0
	if _, err := s.attach(ctx, resume); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.record.Reopen()
	s.closed = false
	s.done = make(chan struct{})
	s.append("", SessionOpened{Model: s.model, Directory: s.directory})
	loop, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel = cancel
	go s.loop(loop, s.done)
	return nil
}

// loop runs prompts until ctx ends, then closes the session.
func (s *Session) loop(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	for ctx.Err() == nil {
		if s.next(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-s.lost():
			s.fail(s.detachLost())
		}
	}
	s.finish()
}

// next performs the first prompt of the queue, if there is one.
func (s *Session) next(ctx context.Context) bool {
	s.mu.Lock()
	if len(s.queue) == 0 || s.closed {
		s.mu.Unlock()
		return false
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r := &run{id: p.id, prompt: p.prompt, ended: make(chan struct{}), cancel: cancel}
	s.run = r
	s.append("", RunStarted{})
	s.append("", UserMessage{Text: p.prompt.Text})
	s.mu.Unlock()
	s.perform(ctx, r)
	return true
}

// perform does one run, from the prompt to RunEnded. Its end comes from the
// agent's word, by [Session.idle], or from here.
func (s *Session) perform(ctx context.Context, r *run) {
	l, err := s.attach(ctx, true)
	if err == nil {
		err = s.send(ctx, l, r.prompt)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		s.fail(err)
		s.end(r, Failed)
	case l == nil: // cancelled before the agent was there
		s.end(r, Cancelled)
	default:
		s.await(ctx, l, r)
	}
}

func (s *Session) send(ctx context.Context, l *link, p Prompt) error {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	err := l.conversation.Send(ctx, p.Text)
	if err == nil {
		return nil
	}
	select { // the connection breaks a little before the process has ended
	case <-l.lease.Agent.Done():
		return s.detachLost()
	case <-time.After(deathTimeout):
		return err
	}
}

// await waits for the end of a run that the agent works on, or ends it.
func (s *Session) await(ctx context.Context, l *link, r *run) {
	select {
	case <-r.ended:
	case <-l.lease.Agent.Done():
		s.fail(s.detachLost())
		s.end(r, Failed)
	case <-ctx.Done():
		s.abort(context.WithoutCancel(ctx), l, r)
	}
}

// abort tells the agent to stop and waits until it has. An agent that does not
// is let go, so that nothing late reaches the next run.
func (s *Session) abort(ctx context.Context, l *link, r *run) {
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
	s.end(r, Cancelled)
}

// end puts the end of a run into the record, once.
func (s *Session) end(r *run, o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endLocked(r, o)
}

func (s *Session) endLocked(r *run, o Outcome) {
	if s.run != r {
		return
	}
	for id := range s.questions {
		s.closeQuestion(id, QuestionAnswered{ID: id, Ending: Withdrawn})
	}
	last := s.append("", RunEnded{Outcome: o, Text: r.failure})
	s.run = nil
	close(r.ended)
	time.AfterFunc(keepDeltas, func() { s.record.Trim(last) })
}

// fail records a failure, and keeps it as the reason should the run end by it.
func (s *Session) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failLocked("", SessionFailed{Kind: KindOf(err), Text: err.Error()})
}

func (s *Session) failLocked(agent string, f SessionFailed) {
	if s.run != nil {
		s.run.failure = f.Text
	}
	s.append(agent, f)
}

// finish closes the session at the end of its loop.
func (s *Session) finish() {
	s.detach()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.append("", SessionClosed{})
	s.record.Close()
}

// append is called with the lock held.
func (s *Session) append(agent string, b Body) uint64 {
	e := Event{Time: now(), Agent: agent, Body: b}
	if s.run != nil {
		e.Run = s.run.id
	}
	n, err := s.record.Append(e)
	if err != nil { // closed: nobody can be interested any more
		return s.record.Last()
	}
	return n
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

package copilot

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Session is one conversation with the agent, for any number of clients. Its
// methods are the one door in and may be called concurrently; what they bring
// about stands in the record.
//
// One goroutine, the session's loop, runs the prompts one after another. The
// agent's events come on the driver's goroutine and go straight into the record.
type Session struct {
	id        string
	origin    string
	directory string
	canonical string // the directory with links followed
	askUser   bool
	tools     []Tool
	created   time.Time
	host      *Host
	record    *Record
	wake      chan struct{}  // holds a token when the loop has something to look at
	gate      chan struct{}  // holds a token while the session is reopened or its model changed
	replies   sync.WaitGroup // answers on their way to the agent

	mu        sync.Mutex
	masks     masks
	title     string
	model     Model
	usage     Usage
	policy    Policy
	closed    bool               // no more prompts; the loop is ending or has ended
	cancel    context.CancelFunc // ends the loop
	done      chan struct{}      // closed when the loop has ended
	run       *run               // nil between runs
	queue     []*run             // those that follow it; empty while there is none
	questions map[string]asked   // the open ones
	answered  map[string]bool    // those that were open once
	link      *link              // nil while there is no conversation
	opening   *link              // the one that is about to become it
}

// maxQueue is how many prompts may wait for their run.
const maxQueue = 100

func newSession(h *Host, id string, model Model, start Start) *Session {
	return &Session{
		id:        id,
		origin:    start.Origin,
		directory: start.Directory,
		canonical: canonical(start.Directory),
		askUser:   start.AskUser,
		tools:     slices.Clone(start.Tools),
		created:   now(),
		host:      h,
		record:    newRecord(h.options.RecordBudget, &h.counts.readers),
		wake:      make(chan struct{}, 1),
		gate:      make(chan struct{}, 1),
		model:     model,
		policy:    maps.Clone(start.Policy),
		closed:    true,
		questions: map[string]asked{},
		answered:  map[string]bool{},
	}
}

// canonical follows the links of a directory.
func canonical(dir string) string {
	if target, err := filepath.EvalSymlinks(dir); err == nil {
		return target
	}
	return filepath.Clean(dir)
}

// ID is the session's UUID.
func (s *Session) ID() string { return s.id }

// Record is what happened, to be read by anybody at any time.
func (s *Session) Record() *Record { return s.record }

// Info is the session as it is now.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	usage := s.usage
	usage.Multiplier = s.model.Multiplier
	return Info{
		ID: s.id, Origin: s.origin, Title: s.title, Model: s.model.ID,
		Directory: s.directory, State: s.state(), Created: s.created, Usage: usage,
	}
}

// state is called with the lock held.
func (s *Session) state() State {
	switch {
	case s.closed:
		return StateClosed
	case s.asksPerson():
		return StateWaiting
	case s.run != nil && s.run.queued:
		return StateQueued
	case s.run != nil:
		return StateRunning
	}
	return StateIdle
}

// Prompt begins a run, or queues it behind the one that is going, and returns
// its id, which the events of the run will carry. It does not wait for the run.
// A prompt that steers joins the run that is going and returns the id of that;
// should the run end first, it gets one of its own. Errors: [ErrEmptyPrompt],
// [ErrSessionClosed], kind [Invalid] for attachments that cannot be used, kind
// [Busy] when too many prompts wait.
func (s *Session) Prompt(p Prompt) (run string, err error) {
	if err := p.check(); err != nil {
		return "", err
	}
	p = p.within(s.directory)
	if err := p.find(); err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.Steer && s.run != nil && !s.closed {
		return s.steer(p)
	}
	return s.add(newRun(p))
}

// Compact makes the agent sum up what was said, to make room in the context
// window. It is a run of its own, which begins or is queued as those of prompts
// are. Errors: [ErrSessionClosed], kind [Busy].
func (s *Session) Compact() (run string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := newRun(Prompt{})
	r.compacts = true
	return s.add(r)
}

// add begins a run or queues it. Called with the lock held.
func (s *Session) add(r *run) (id string, err error) {
	switch {
	case s.closed:
		return "", ErrSessionClosed
	case s.run == nil:
		s.begin(r)
	case len(s.queue) < maxQueue:
		s.queue = append(s.queue, r)
	default:
		return "", Errorf(Busy, "%d prompts wait already; try again when some have run", maxQueue)
	}
	return r.id, nil
}

// nudge makes the loop look at the session again.
func (s *Session) nudge() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Cancel ends the current run, if there is one; prompts that wait go on. It
// returns at once: the end of the run is an event.
func (s *Session) Cancel() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrSessionClosed
	}
	if s.run != nil {
		s.run.cancelled = true
		s.stopRun()
	}
	return nil
}

// stopRun makes the loop end the current run. Called with the lock held.
func (s *Session) stopRun() {
	if s.run.cancel != nil {
		s.run.cancel()
	}
}

// enter gives the right to reopen the session or to change its model, which
// leave returns.
func (s *Session) enter(ctx context.Context) (leave func(), err error) {
	select {
	case s.gate <- struct{}{}:
		return func() { <-s.gate }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Close ends the session: the current run is cancelled, waiting prompts are
// dropped, the record ends. The agent keeps the conversation for
// [Session.Reopen]. Closing a closed session does nothing. Close returns when
// the record has ended. An agent that hangs delays it by a few seconds, unless
// its process is stopped meanwhile.
func (s *Session) Close() {
	s.mu.Lock()
	if s.done == nil { // never opened
		s.mu.Unlock()
		return
	}
	s.closed = true
	s.queue = nil
	s.cancel()
	done := s.done
	s.mu.Unlock()
	<-done
}

// Reopen opens a closed session again, with its past. Errors: [ErrSessionOpen],
// [ErrStopping], kind [Unavailable] when the agent cannot be had, kind [Busy]
// when too many sessions are open.
func (s *Session) Reopen(ctx context.Context) error {
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	open, done := !s.closed, s.done
	s.mu.Unlock()
	if open {
		return ErrSessionOpen
	}
	select {
	case <-done: // the loop may still be ending
	case <-ctx.Done():
		return ctx.Err()
	}
	if err := s.host.reserve(); err != nil {
		return err
	}
	if err := s.reopen(ctx); err != nil {
		s.host.release()
		return err
	}
	return s.host.admit(s)
}

func (s *Session) reopen(ctx context.Context) error {
	lease, err := s.host.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	return s.open(ctx, lease)
}

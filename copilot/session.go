package copilot

import (
	"context"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
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
	created   time.Time
	host      *Host
	record    *Record
	wake      chan struct{}  // holds a token when the loop has something to look at
	replies   sync.WaitGroup // answers on their way to the agent

	mu        sync.Mutex
	title     string
	model     string
	usage     UsageChanged
	policy    Policy
	closed    bool               // no more prompts; the loop is ending or has ended
	cancel    context.CancelFunc // ends the loop
	done      chan struct{}      // closed when the loop has ended
	queue     []pending
	run       *run                // nil between runs
	questions map[string]Question // the open ones
	answered  map[string]bool     // those that were open once
	link      *link               // nil while there is no conversation
}

// Prompt is what a user asks for.
type Prompt struct {
	Text string
}

// pending is a prompt that waits for its run.
type pending struct {
	id     string // of the run
	prompt Prompt
}

// maxQueue is how many prompts may wait for their run.
const maxQueue = 100

func newSession(h *Host, id string, start Start) *Session {
	return &Session{
		id:        id,
		origin:    start.Origin,
		directory: start.Directory,
		canonical: canonical(start.Directory),
		askUser:   start.AskUser,
		created:   now(),
		host:      h,
		record:    newRecord(h.options.RecordBudget),
		wake:      make(chan struct{}, 1),
		model:     start.Model,
		policy:    maps.Clone(start.Policy),
		closed:    true,
		questions: map[string]Question{},
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
	return Info{
		ID: s.id, Origin: s.origin, Title: s.title, Model: s.model,
		Directory: s.directory, State: s.state(), Created: s.created,
	}
}

// state is called with the lock held.
func (s *Session) state() State {
	switch {
	case s.closed:
		return StateClosed
	case len(s.questions) > 0:
		return StateWaiting
	case s.run != nil || len(s.queue) > 0:
		return StateRunning
	}
	return StateIdle
}

// Prompt queues a prompt and returns the id of its run, which the events of the
// run will carry. It does not wait for the run. Errors: [ErrEmptyPrompt],
// [ErrSessionClosed], kind [Busy] when too many prompts wait.
func (s *Session) Prompt(p Prompt) (run string, err error) {
	if strings.TrimSpace(p.Text) == "" {
		return "", ErrEmptyPrompt
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return "", ErrSessionClosed
	}
	if len(s.queue) >= maxQueue {
		return "", Errorf(Busy, "%d prompts wait already; try again when some have run", maxQueue)
	}
	run = uuid.NewString()
	s.queue = append(s.queue, pending{run, p})
	s.nudge()
	return run, nil
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
		s.run.cancel()
	}
	return nil
}

// SetModel changes the model from the next prompt on. Errors:
// [ErrModelNotFound], [ErrSessionClosed], kind [Busy] during a run.
func (s *Session) SetModel(ctx context.Context, model string) error {
	link, err := s.idleLink()
	if err != nil {
		return err
	}
	if link != nil {
		if model, err = s.host.findModel(ctx, link.lease.Agent, model); err != nil {
			return err
		}
		if err := link.conversation.SetModel(ctx, model); err != nil {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setModel(model)
	return nil
}

func (s *Session) idleLink() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrSessionClosed
	}
	if s.state() != StateIdle {
		return nil, Errorf(Busy, "the model can be changed when the current run has ended")
	}
	return s.link, nil
}

// Close ends the session: the current run is cancelled, waiting prompts are
// dropped, the record ends. The agent keeps the conversation for [Session.Reopen].
// Closing a closed session does nothing. Close returns when the record has ended. An agent that hangs
// delays it by a few seconds, unless its process is stopped meanwhile.
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
// kind [Unavailable] when the agent cannot be had.
func (s *Session) Reopen(ctx context.Context) error {
	s.mu.Lock()
	open, done := !s.closed, s.done
	s.mu.Unlock()
	if open {
		return ErrSessionOpen
	}
	<-done // the loop may still be ending
	return s.open(ctx)
}

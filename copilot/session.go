package copilot

import (
	"context"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Session is one conversation with the agent, for any number of clients. Its
// methods are the one door in and may be called concurrently; what they bring
// about stands in the record.
//
// One goroutine, the session's loop, runs the prompts one after another. The
// agent's events come on the driver's goroutine and go straight into the record.
type Session struct {
	id             string
	origin         string
	directory      string
	canonical      string // the directory with links followed
	created        time.Time
	host           *Host
	record         *event.Record
	storage        sessionStorage
	wake           chan struct{}  // holds a token when the loop has something to look at
	gate           chan struct{}  // holds a token while the session is reopened or its model changed
	pendingReplies sync.WaitGroup // answers on their way to the agent

	mu              sync.Mutex
	masks           event.Masker
	blocks          event.Blocks // of the run that goes on
	askUser         bool
	capabilities    Capabilities      // of its client, which need not be attached
	attributes      map[string]string // what its client wants to know again; never changed, but replaced
	tools           []event.Tool
	title           string
	titledByUser    bool // by a user: the agent's titles do not count
	model           agent.Model
	usage           Usage
	recent          runSummary
	policy          permission.Policy
	remembered      permission.Policy       // rules that answers have made, over those of policy
	closed          bool                    // no more prompts; the loop is ending or has ended
	cancel          context.CancelFunc      // ends the loop
	done            chan struct{}           // closed when the loop has ended
	run             *run                    // nil between runs
	queue           []*run                  // those that follow it; empty while there is none
	questions       map[string]openQuestion // the open ones
	closedQuestions map[string]bool         // those that were open once
	link            *agentLink              // nil while there is no conversation
	opening         *agentLink              // the one that is about to become it
	hasHistory      bool                    // the agent has said or done something: there is something to take up
	neverOpened     bool                    // the agent was never asked to open its conversation
	modelUnresolved bool                    // model is what a client named; it is looked up with the first conversation
	lastUse         time.Time               // when somebody asked for it last
	lastChange      time.Time               // when something happened in it last

	// What the store needs; see [sessionStorage].
	suspended        bool               // closed, but only until its next use
	recordEnded      bool               // nothing is written to it any more
	holdsLease       bool               // this process has it, or is the only one that knows it
	owner            int                // while it is at rest: the process that has it, 0 if none
	recorderNotified bool               // the recorder will look at it
	headChanged      bool               // what is known of it has changed
	lastRunEnd       uint64             // the number of its last RunEnded: before it nothing is left to do
	evicted          bool               // it has left memory: another object may have its name
	needsRecovery    bool               // it was let go with a run that was to go on
	epoch            uint64             // of the record
	earlierEpochs    []journal.Position // the epochs before, with their ends
	leftQueue        []json.RawMessage  // prompts that waited when its last owner ended
	readerPositions  map[string]uint64  // positions of readers that the store does not have yet
}

// maxQueue is how many prompts may wait for their run.
const maxQueue = 100

func newSession(h *Host, id string, model agent.Model, start Start) *Session {
	s := &Session{
		id:              id,
		origin:          start.Origin,
		directory:       start.Directory,
		canonical:       permission.Canonical(start.Directory),
		askUser:         start.AskUser,
		capabilities:    start.Capabilities,
		attributes:      start.Attributes,
		tools:           slices.Clone(start.Tools),
		created:         time.Now(),
		host:            h,
		record:          journal.New(h.recordOptions(id)),
		wake:            make(chan struct{}, 1),
		gate:            make(chan struct{}, 1),
		model:           model,
		neverOpened:     true,
		policy:          maps.Clone(start.Policy),
		closed:          true,
		holdsLease:      true,
		epoch:           newEpoch(),
		questions:       map[string]openQuestion{},
		closedQuestions: map[string]bool{},
	}
	s.lastChange, s.lastUse = s.created, s.created
	s.record.Begin(s.epoch, nil)
	return s
}

// newEpoch is a number that no record had before; readers in JavaScript keep it
// exactly.
func newEpoch() uint64 {
	return rand.Uint64N(1<<53-1) + 1 //nolint:gosec // it must be new, not secret
}

// ID is the session's UUID.
func (s *Session) ID() string { return s.id }

// Record is what happened, to be read by anybody at any time.
func (s *Session) Record() *event.Record { return s.record }

// Attribute is what the dialect that started the session keeps with it under a name, "" if nothing.
func (s *Session) Attribute(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.attributes[name]
}

// SetAttribute keeps something with the session, also over a restart.
func (s *Session) SetAttribute(name, value string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attributes[name] == value {
		return
	}
	notes := map[string]string{}
	maps.Copy(notes, s.attributes)
	notes[name] = value
	s.attributes = notes
	s.storeHead()
}

// Info is the session as it is now.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	usage := s.usage
	usage.Multiplier = s.model.Multiplier
	return Info{
		ID: s.id, Origin: s.origin, Title: s.title, Model: s.model.ID,
		Directory: s.directory, State: s.state(), Created: s.created, Changed: s.lastChange, Owner: s.owner, Usage: usage,
		Run: s.recent.run, Prompts: s.recent.prompts, Prompt: s.recent.prompt,
	}
}

// state is called with the lock held.
func (s *Session) state() State {
	switch {
	case s.closed && s.owner != 0:
		return StateElsewhere
	case s.closed && s.suspended:
		return StateIdle
	case s.closed:
		return StateClosed
	case s.waitsForPerson():
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
// should the run end first, it gets one of its own. Errors: [fault.ErrEmptyPrompt],
// [fault.ErrSessionClosed], [fault.ErrBusy], kind [fault.Invalid] for attachments that cannot be
// used, kind [fault.Busy] when too many prompts wait, or ([fault.ErrSessionInUse]) when
// another process has the session.
func (s *Session) Prompt(p event.Prompt) (run string, err error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	p = p.Resolve(s.directory)
	if err := p.CheckFiles(); err != nil {
		return "", err
	}
	if err := s.lockActive(); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	if p.Steer && s.run != nil && !s.closed {
		return s.steer(p)
	}
	return s.submit(p)
}

// submit begins the run of a prompt, or queues it, if the prompt may wait. Called with
// the lock held.
func (s *Session) submit(p event.Prompt) (run string, err error) {
	if p.RefuseIfBusy && s.run != nil && !s.closed {
		return "", fault.ErrBusy
	}
	r := newRun(p)
	r.compactsFirst = p.IsEmpty() && p.Compact
	return s.enqueue(r)
}

// Compact makes the agent sum up what was said, to make room in the context
// window. It is a run of its own, which begins or is queued as those of prompts
// are. Errors: [fault.ErrSessionClosed], kind [fault.Busy].
func (s *Session) Compact() (run string, err error) {
	if err := s.lockActive(); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	return s.submit(event.Prompt{Compact: true})
}

// enqueue begins a run or queues it. Called with the lock held.
func (s *Session) enqueue(r *run) (id string, err error) {
	switch {
	case s.closed:
		return "", fault.ErrSessionClosed
	case s.run == nil:
		s.startRun(r)
	case len(s.queue) < maxQueue:
		s.queue = append(s.queue, r)
		s.reportQueue()
	default:
		return "", fault.Errorf(fault.Busy, "%d prompts wait already; try again when some have run", maxQueue)
	}
	return r.id, nil
}

// wakeLoop makes the loop look at the session again.
func (s *Session) wakeLoop() {
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// Cancel ends a run: the current one, if there is one, for "", else the one of
// that id. One that waits ends when its turn comes, before the agent hears of
// it. Other prompts that wait go on. Cancel returns at once: the end of a run is an
// event. Errors: [fault.ErrRunNotFound], [fault.ErrSessionClosed], those of [Session.Prompt]
// about a session at rest that was left in the middle of a run.
func (s *Session) Cancel(run string) error {
	if err := s.lockToEnd(run); err != nil {
		return err
	}
	defer s.mu.Unlock()
	switch {
	case s.closed && s.owner != 0:
		return s.inUseError()
	case s.closed && !s.suspended:
		return fault.ErrSessionClosed
	}
	r := s.findRun(run)
	switch {
	case r == nil && run != "":
		return fault.ErrRunNotFound
	case r == nil:
		return nil // nothing goes on
	}
	waited := r != s.run && !r.cancelled
	r.cancelled = true
	s.stopRun(r)
	if waited {
		s.reportQueue()
	}
	return nil
}

// lockToEnd takes the lock, after waking a session at rest if the run may be one
// that waits for an answer there.
func (s *Session) lockToEnd(run string) error {
	if run == "" {
		s.mu.Lock()
		return nil
	}
	return s.lockIfRecoverable(func(left unfinished) bool { return left.run != "" })
}

// findRun gives a run that has not ended, the current one for ""; nil if there is
// none. Called with the lock held.
func (s *Session) findRun(id string) *run {
	switch {
	case s.closed || s.run == nil:
		return nil
	case id == "" || id == s.run.id:
		return s.run
	}
	for _, r := range s.queue {
		if r.id == id {
			return r
		}
	}
	return nil
}

// stopRun makes the loop end a run; one that the loop has not taken up ends when it
// does. Called with the lock held.
func (s *Session) stopRun(r *run) {
	if !agent.IsClosed(r.stopping) {
		close(r.stopping)
	}
	if r.cancel != nil {
		r.cancel()
	}
	s.storeHead() // the store forgets one that waits
}

// enterGate gives the right to reopen the session or to change its model, which
// leave returns.
func (s *Session) enterGate(ctx context.Context) (leave func(), err error) {
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
// its process is stopped meanwhile. Errors, of a session that is at rest: those of
// taking it from the store ([fault.ErrSessionInUse], kind [fault.Unavailable]).
func (s *Session) Close() error {
	s.closeOrSuspend(false)
	s.mu.Lock()
	rests := s.isSuspended()
	s.mu.Unlock()
	if !rests {
		return nil
	}
	return s.closeSuspended()
}

// closeOrSuspend closes the session, or lets it rest.
func (s *Session) closeOrSuspend(rests bool) {
	s.mu.Lock()
	if s.done == nil { // never opened
		s.mu.Unlock()
		return
	}
	if !s.closed {
		s.closed, s.suspended = true, rests
		if !rests {
			s.queue = nil
		}
		s.storeHead()
	}
	s.cancel()
	done := s.done
	s.mu.Unlock()
	<-done
}

// Reopen opens a closed session again, with its past. Errors: [fault.ErrSessionOpen],
// [fault.ErrStopping], kind [fault.Unavailable] when the agent cannot be had, kind [fault.Busy]
// when too many sessions are open, or ([fault.ErrSessionInUse]) when another process
// has the session.
func (s *Session) Reopen(ctx context.Context) error {
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	open := !s.closed
	s.mu.Unlock()
	if open {
		return fault.ErrSessionOpen
	}
	return s.reopenWith(ctx, s.openWithConversation)
}

// Resume makes a closed session ready for prompts, as [Session.Reopen] does, but
// does not wait for the agent: the conversation is taken up with the next prompt. It
// does nothing for other sessions; one at rest wakes up by itself. Errors: as
// Reopen, but for [fault.ErrSessionOpen].
func (s *Session) Resume(ctx context.Context) error {
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	s.mu.Lock()
	usable := !s.closed || s.suspended
	s.mu.Unlock()
	if usable {
		return nil
	}
	return s.reopenWith(ctx, s.activateWithoutAgent)
}

// openWithConversation opens the session with its conversation.
func (s *Session) openWithConversation(ctx context.Context) error {
	lease, err := s.host.pool.AcquireIn(ctx, s.directory)
	if err != nil {
		return err
	}
	return s.open(ctx, lease)
}

package copilot

import (
	"context"
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
	"github.com/copilot-portal/portal/copilot/session"
)

// Session is one conversation with the agent, for any number of clients. All
// dialects use its methods, which may be called concurrently; their effects
// are in the record.
//
// A [session.Machine] decides what happens. It receives the inputs of clients, the agent, timers and the store
// under the lock, where its effects are performed, too. One goroutine, the session's loop, performs the slow
// ones. Events of the agent arrive on the driver's goroutine and go straight into the record.
type Session struct {
	id             string
	origin         string
	directory      string
	canonical      string // the directory with symbolic links resolved
	created        time.Time
	host           *Host
	record         *event.Record
	storage        sessionStorage
	wake           chan struct{}  // holds a token when the loop must re-evaluate what it watches
	gate           chan struct{}  // holds a token while the session is reopened or its model changes
	pendingReplies sync.WaitGroup // answers and prompts being sent to the agent

	mu        sync.Mutex
	machine   session.Machine
	life      *life                     // nil before the first activation
	link      *agentLink                // nil without a conversation
	opening   *agentLink                // the link that is being opened
	interrupt context.CancelFunc        // cancels the current interruptible step; nil before the first
	hurry     chan struct{}             // closed to hurry the prompts that steer; nil without any
	runEnded  chan struct{}             // closed at the end of a run that is being aborted; nil before the first
	timers    map[string]questionTimers // of the open questions
	masks     event.Masker
	blocks    event.Blocks // of the current run
	checkpoints

	title        string
	titledBy     titleSource
	model        agent.Model
	capabilities Capabilities // of its client, even when it is not attached
	lastChange   time.Time    // time of the last change
	settings     settings

	// State of storage; see [sessionStorage].
	lease        leaseState
	owner        owner
	stored       storedHead
	unstored     unstored
	epochs       epochs
	expectsFiles bool            // see [Start.Files]
	evicted      bool            // another object may represent the session
	lastUse      time.Time       // time of the last lookup
	shipping     <-chan struct{} // closed when the newest copy of the conversation is made; nil: there is none
}

func newSession(h *Host, id string, model agent.Model, start Start) *Session {
	s := &Session{
		id:        id,
		origin:    start.Origin,
		directory: start.Directory,
		canonical: permission.Canonical(start.Directory),
		created:   time.Now(),
		host:      h,
		record:    journal.New(h.recordOptions(id)),
		wake:      make(chan struct{}, 1),
		gate:      make(chan struct{}, 1),
		machine:   session.NewMachine(newID),
		timers:    map[string]questionTimers{},
		model:     model,
		settings: settings{
			AskUser: start.AskUser, Attributes: start.Attributes, Tools: slices.Clone(start.Tools), Policy: maps.Clone(start.Policy),
		},
		capabilities: start.Capabilities, epochs: epochs{current: newEpoch()}, expectsFiles: start.Files,
	}
	if len(start.Servers) > 0 { // otherwise a session that is loaded again keeps its own
		h.clientServers.set(id, start.Servers)
	}
	s.lastChange, s.lastUse = s.created, s.created
	s.record.Begin(s.epochs.current, nil)
	return s
}

// newEpoch returns a number that no record has had. It has 53 bits, so that JavaScript represents it exactly.
func newEpoch() uint64 {
	return rand.Uint64N(1<<53-1) + 1 //nolint:gosec // must be unique, not secret
}

// ID returns the session's UUID.
func (s *Session) ID() string { return s.id }

// Record returns the session's record, which any number of readers may read at any time.
func (s *Session) Record() *event.Record { return s.record }

// Attribute returns the value that a dialect stored with the session under a name, or "".
func (s *Session) Attribute(name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.Attributes[name]
}

// SetAttribute stores a value with the session; it survives restarts.
func (s *Session) SetAttribute(name, value string) {
	runOrLog(s, s.host.commands.setAttribute, attribute{name, value})
}

func (s *Session) setAttributeHere(ctx context.Context, a attribute) error {
	if s.Attribute(a.Name) == a.Value {
		return nil
	}
	return s.update(ctx, func() {
		attributes := map[string]string{}
		maps.Copy(attributes, s.settings.Attributes)
		attributes[a.Name] = a.Value
		s.settings.Attributes = attributes
		s.storeHead()
	})
}

// Info returns a snapshot of the session.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	usage := s.settings.Usage
	usage.Multiplier = s.model.Multiplier
	return Info{
		ID: s.id, Origin: s.origin, Title: s.title, Agent: s.settings.Agent, Model: s.model.ID,
		Directory: s.directory, State: s.state(), Created: s.created, Changed: s.lastChange, Owner: s.owner.process, Usage: usage,
		Run: s.settings.Run, Prompts: s.settings.Prompts, Prompt: s.settings.Prompt, Outcome: s.settings.Outcome,
		WaitsFor: s.waitsFor(), Pinned: s.settings.Pinned, Archived: s.settings.Archived, ForkOf: s.settings.ForkOf,
	}
}

// state returns the state. The caller must hold the lock.
func (s *Session) state() State {
	switch s.machine.State() {
	case session.Active:
	case session.Elsewhere:
		return s.stored.status.stateElsewhere(s.host.processes != nil)
	case session.Suspending, session.Stopping, session.Suspended:
		return StateIdle
	case session.New, session.Closing, session.Closed:
		return StateClosed
	}
	switch r := s.machine.Run(); {
	case s.machine.WaitsForPerson():
		return StateWaiting
	case r == nil:
		return StateIdle
	case r.Phase() == session.AwaitingSlot:
		return StateQueued
	}
	return StateRunning
}

// Prompt starts a run, or queues it behind the current one, and returns its id, which the events of the run carry. It does
// not wait for the run. A prompt that steers joins the current run and returns that run's id; if the run ends first, the
// prompt gets its own run. Errors: [fault.ErrEmptyPrompt],
// [fault.ErrSessionClosed], [fault.ErrBusy], kind [fault.Invalid] for unusable
// attachments and for what the session's agent cannot do, kind [fault.Unavailable] if that agent is no longer configured, kind [fault.Busy] if too many prompts wait, or ([fault.ErrSessionInUse]) if
// another process holds the session.
func (s *Session) Prompt(p event.Prompt) (run string, err error) {
	if err := p.Check(); err != nil {
		return "", err
	}
	p = p.Resolve(s.directory)
	if err := p.CheckFiles(); err != nil {
		return "", err
	}
	return s.prompt(p)
}

// prompt sends a prompt to the process that holds the session.
func (s *Session) prompt(p event.Prompt) (run string, err error) {
	return s.host.commands.prompt.run(context.Background(), s, sent(p))
}

// Compact makes the agent summarize the conversation, to make room in the context window. This is a separate run, started
// or queued like that of a prompt. Errors: [fault.ErrSessionClosed], kind [fault.Busy], kind [fault.Invalid] if the agent cannot.
func (s *Session) Compact() (run string, err error) { return s.prompt(event.Prompt{Compact: true}) }

func (s *Session) promptHere(_ context.Context, sent sentPrompt) (run string, err error) {
	p, err := s.adapt(sent.whole())
	if err != nil {
		return "", err
	}
	if accepting := s.host.options.Accepting; accepting != nil {
		if err := accepting(); err != nil {
			return "", err
		}
	}
	if err := s.lockActive(); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	run, err = s.machine.Prompt(p)
	s.perform()
	return run, err
}

// Cancel ends the run with an id, or for "" the current run, if any. A queued run ends in its turn, before
// the agent receives it; other queued runs stay. Cancel returns at once: an event reports the end of the run. Errors:
// [fault.ErrRunNotFound], [fault.ErrSessionClosed], and those of [Session.Prompt] for a stored session with an unfinished
// run.
func (s *Session) Cancel(run string) error {
	return s.host.commands.cancel.effect(context.Background(), s, run)
}

func (s *Session) cancelHere(run string) error {
	if err := s.lockToEnd(run); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := s.checkHere(); err != nil {
		return err
	}
	err := s.machine.Cancel(run)
	s.perform()
	return err
}

// lockToEnd acquires the lock. It first activates a stored session in which the run may wait for an answer.
func (s *Session) lockToEnd(run string) error {
	if run == "" {
		s.mu.Lock()
		return nil
	}
	return s.lockIfRecoverable(func(left unfinished) bool { return left.Run != "" })
}

// exclusively calls do while no other call of exclusively is active: what activates, changes or deletes the session has its gate.
func (s *Session) exclusively(ctx context.Context, do func(context.Context) error) error {
	select {
	case s.gate <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.gate }()
	return do(ctx)
}

// Close closes the session: it cancels the current run, drops the queued ones and ends the record. The agent keeps the
// conversation for [Session.Reopen]. Closing a closed session does nothing. Close returns when the record has ended; an
// agent that hangs delays it by a few seconds. Errors, for a stored session: those of acquiring its lease
// ([fault.ErrSessionInUse], kind [fault.Unavailable]).
func (s *Session) Close() error {
	return s.host.commands.close.effect(context.Background(), s, none{})
}

func (s *Session) closeHere(none) error {
	s.shutDown((*session.Machine).Close)
	if !s.machineState().Resumes() {
		return nil
	}
	return s.closeSuspended()
}

// shutDown closes or stops the session and returns when it is inactive. It does nothing for a session that was never active.
func (s *Session) shutDown(in func(*session.Machine)) {
	s.mu.Lock()
	l := s.life
	if l == nil {
		s.mu.Unlock()
		return
	}
	s.inputLocked(in)
	s.mu.Unlock()
	<-l.done
}

// machineState returns the state of the session's machine.
func (s *Session) machineState() session.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.State()
}

// Reopen activates a closed session, with its past. Errors: [fault.ErrSessionOpen], [fault.ErrStopping], kind
// [fault.Unavailable] without an agent, kind [fault.Busy] if too many sessions are open, [fault.ErrSessionInUse]
// if another process holds the session.
func (s *Session) Reopen(ctx context.Context) error {
	return s.host.commands.reopen.effect(ctx, s, none{})
}

func (s *Session) reopenHere(ctx context.Context) error {
	if s.machineState() == session.Active {
		return fault.ErrSessionOpen
	}
	return s.reopenWith(ctx, s.openWithConversation)
}

// Resume makes a closed session accept prompts, like [Session.Reopen], but does not wait for the agent: the next prompt opens
// the conversation. It does nothing for other sessions; a suspended one is activated by its next use. Errors: those of
// Reopen except [fault.ErrSessionOpen].
func (s *Session) Resume(ctx context.Context) error {
	return s.host.commands.resume.effect(ctx, s, none{})
}

func (s *Session) resumeHere(ctx context.Context) error {
	if state := s.machineState(); state == session.Active || state.Resumes() {
		return nil
	}
	return s.reopenWith(ctx, s.activateWithoutAgent)
}

// openWithConversation activates the session with its conversation open.
func (s *Session) openWithConversation(ctx context.Context) error {
	on, lease, err := s.acquireAgent(ctx)
	if err != nil {
		return err
	}
	return s.open(ctx, on, lease)
}

package session

import (
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/secret"
)

// maxQueue is the maximum number of queued prompts, and of prompts that steer one run.
const maxQueue = 100

// Run is the work on one prompt.
type Run struct {
	ID     string
	Prompt event.Prompt

	tools      *[]event.Tool // the session's tools from this run on; nil: unchanged
	phase      Phase
	stop       stop
	slot       slot
	accepted   bool    // the agent has received the prompt
	worked     bool    // the agent has said or done something since the run started
	failure    string  // the last error
	steers     []steer // waiting for the agent to read them during this run
	join       join
	delivering bool             // a prompt is being given to the agent during this run
	idle       *event.Idle      // the end of the agent's work, deferred while a prompt is being delivered
	pending    []event.Question // of a recovered run: the agent asks them again
	answers    []Reply          // to pending, given before the agent was started
	unread     []event.Prompt   // of a recovered run: an earlier process accepted them as steering, and may not have read them

	excerpt string // see Excerpt; "" until it is needed
	encoded []byte // see Encoded; nil until it is needed
}

// stop is why a run must end before the agent has finished it.
type stop int

const (
	stopNone stop = iota
	stopFailed
	stopCancelled
)

// slot is the state of a run's slot. A run that waits for a person lends its slot; otherwise a few forgotten questions
// would block all other runs.
type slot int

const (
	noSlot slot = iota
	heldSlot
	lentSlot
)

// NewRun returns the run of a prompt that does not steer.
func NewRun(id string, p event.Prompt) *Run {
	tools := p.Tools
	p.Steer, p.RefuseIfBusy, p.Tools = false, false, nil
	return &Run{ID: id, Prompt: p, tools: tools}
}

func (m *Machine) newRun(p event.Prompt) *Run { return NewRun(m.newID(), p) }

// Phase returns the phase of the run.
func (r *Run) Phase() Phase { return r.phase }

// Cancelled reports whether a client cancelled the run.
func (r *Run) Cancelled() bool { return r.stop == stopCancelled }

// Continues reports whether the agent had the prompt before this process did: the run was recovered.
func (r *Run) Continues() bool { return r.pending != nil }

// OnlyCompacts reports whether the run has no prompt: the agent only compacts the conversation.
func (r *Run) OnlyCompacts() bool { return r.Prompt.Compact && r.Prompt.IsEmpty() }

// Excerpt returns the start of the prompt on one line. It masks before it truncates: a truncated credential would not be
// recognized.
func (r *Run) Excerpt() string {
	if r.excerpt == "" {
		r.excerpt = Excerpt(secret.Mask(r.Prompt.Text))
	}
	return r.excerpt
}

// sent reports whether the agent may have the prompt, so that its events belong to this run.
func (r *Run) sent() bool { return r.phase >= Sending || r.pending != nil }

// Prompt starts a run, queues it, or steers the current one, and returns the id of the run. Errors: [fault.ErrBusy],
// [fault.ErrSessionClosed], kind [fault.Busy] if too many prompts wait.
func (m *Machine) Prompt(p event.Prompt) (run string, err error) {
	if p.Steer && m.run != nil && m.state == Active {
		return m.steer(p)
	}
	return m.submit(p)
}

func (m *Machine) submit(p event.Prompt) (run string, err error) {
	if p.RefuseIfBusy && m.run != nil && m.state == Active {
		return "", fault.ErrBusy
	}
	return m.enqueue(m.newRun(p))
}

func (m *Machine) enqueue(r *Run) (id string, err error) {
	switch {
	case m.state != Active:
		return "", fault.ErrSessionClosed
	case m.run == nil:
		m.start(r)
		m.advance()
	case len(m.queue) >= maxQueue:
		return "", fault.Errorf(fault.Busy, "%d prompts wait already; try again when some have run", maxQueue)
	default:
		if err := m.checkRoom(r.Prompt, r.tools, nil); err != nil {
			return "", err
		}
		m.queue = append(m.queue, r)
		m.queueChanged()
	}
	return r.ID, nil
}

// start makes r the current run.
func (m *Machine) start(r *Run) {
	m.run, r.phase = r, Starting
	if r.tools != nil && !m.stops(r) { // a run that ends at once needs none
		m.emit(ReplaceTools{*r.tools})
	}
	m.record("", event.RunStarted{})
	if !r.OnlyCompacts() && r.join != joined {
		m.record("", event.UserMessage{Prompt: r.Prompt})
	}
}

// Find returns a run that has not ended, the current one for ""; nil if there is none.
func (m *Machine) Find(id string) *Run {
	if m.run == nil || id == "" || id == m.run.ID {
		return m.run
	}
	if i := slices.IndexFunc(m.queue, func(r *Run) bool { return r.ID == id }); i >= 0 {
		return m.queue[i]
	}
	return nil
}

// Cancel ends a run, the current one for "". A queued run ends in its turn. Errors: [fault.ErrRunNotFound],
// [fault.ErrSessionClosed].
func (m *Machine) Cancel(id string) error {
	if m.state != Active && !m.state.Resumes() {
		return fault.ErrSessionClosed
	}
	r := m.Find(id)
	switch {
	case m.state == Active && r != nil:
	case id == "":
		return nil // nothing to cancel
	default:
		return fault.ErrRunNotFound
	}
	isNews := r != m.run && !r.Cancelled()
	if isNews {
		m.withdrawSteer(r)
	}
	m.stop(r, stopCancelled)
	if isNews {
		m.queueChanged()
	}
	return nil
}

// stop makes a run end before the agent has finished it.
func (m *Machine) stop(r *Run, why stop) {
	goesOn := !m.stops(r)
	r.stop = max(r.stop, why)
	m.emit(Changed{})
	if r == m.run && goesOn {
		m.emit(Interrupt{})
		m.advance()
	}
}

// Interrupted reports whether an interruptible step is pointless.
func (m *Machine) Interrupted() bool {
	return m.state != Active || m.run != nil && m.run.stop != stopNone
}

// stops reports whether a run must end.
func (m *Machine) stops(r *Run) bool { return r.stop != stopNone || m.state != Active }

// advance continues the current run until a step starts or an input is needed.
func (m *Machine) advance() {
	for m.step.Step == NoStep && (m.state == Active || m.state == Stopping || m.state == Closing) {
		if !m.proceed() {
			return
		}
	}
}

// proceed makes one transition of the session; false if an input is needed first.
func (m *Machine) proceed() bool {
	switch r := m.run; {
	case r == nil && m.state == Active:
		return false
	case r == nil || m.stops(r) && m.canLeaveRunOpen():
		m.begin(Finish)
	case m.stops(r) && r.phase < Compacting: // the agent does not receive it
		m.end(r, event.Cancelled)
	case r.join == joined: // the agent got the prompt in an earlier run
		m.end(r, event.Completed)
	case m.stops(r):
		r.phase = Aborting
		m.begin(AbortRun)
	default:
		return m.proceedRun(r)
	}
	return true
}

// proceedRun starts the step of a run's phase; false if the run waits for an input.
func (m *Machine) proceedRun(r *Run) bool {
	switch r.phase {
	case Starting:
		m.begin(AcquireSlot)
	case AwaitingAnswer:
		if len(r.answers) == 0 {
			return false
		}
		r.phase = Opening
	case Opening:
		m.begin(OpenConversation)
	case Compacting:
		m.begin(Compact)
	case Sending:
		m.begin(SendPrompt)
	case Queued, AwaitingSlot, Working, Finishing, Aborting, Releasing, Ended:
		return false
	}
	return true
}

func (m *Machine) begin(o Step) {
	m.step = Begin{o, m.run}
	m.emit(m.step)
}

// done ends the current step and returns its run, or nil if that has ended meanwhile.
func (m *Machine) done() *Run {
	r := m.step.Run
	m.step = Begin{}
	if r != m.run {
		return nil
	}
	return r
}

// SlotBusy reports that [AcquireSlot] must wait; the notice informs clients.
func (m *Machine) SlotBusy(notice event.Notice) {
	m.run.phase = AwaitingSlot
	m.record("", notice)
}

// SlotAcquired ends [AcquireSlot]; ok is false if it was interrupted.
func (m *Machine) SlotAcquired(ok bool) {
	r := m.done()
	switch {
	case r == nil && ok:
		m.emit(Slot{Held: false})
	case r == nil:
	default:
		r.phase = Opening
		if r.pending != nil && m.conversation == 0 {
			r.phase = AwaitingAnswer
		}
		if ok {
			r.slot = heldSlot
			m.updateSlot()
		}
	}
	m.advance()
}

// updateSlot lends the slot of the current run while it waits for a person. A run that continues acquires a slot even if none is
// free: its agent cannot be paused, and the person who answered should not wait.
func (m *Machine) updateSlot() {
	switch waits := m.WaitsForPerson(); {
	case m.run == nil:
	case waits && m.run.slot == heldSlot:
		m.run.slot = lentSlot
		m.emit(Slot{Held: false})
	case !waits && m.run.slot == lentSlot:
		m.run.slot = heldSlot
		m.emit(Slot{Held: true})
	}
}

func (m *Machine) returnSlot(r *Run) {
	if r.slot == heldSlot {
		m.emit(Slot{Held: false})
	}
	r.slot = noSlot
}

// ConversationOpened ends [OpenConversation].
func (m *Machine) ConversationOpened(err error) {
	r := m.done()
	switch {
	case r == nil:
	case r.pending != nil && err == nil: // the agent works on it already, so it must be aborted if it stops
		r.phase = Working
	case m.stops(r):
		m.end(r, event.Cancelled)
	case err != nil:
		m.fail(r, err)
	case r.Prompt.Compact:
		r.phase = Compacting
	default:
		r.phase = Sending
	}
	m.advance()
}

// Compacted ends [Compact]. exit is how the agent's process ended, nil if it runs.
func (m *Machine) Compacted(err error, exit *event.SessionError) {
	r := m.done()
	switch {
	case r == nil:
	case m.stops(r):
		m.end(r, event.Cancelled)
	case !r.OnlyCompacts() && (err == nil || errors.Is(err, fault.ErrNothingToCompact)):
		r.phase = Sending
	case err == nil:
		m.end(r, event.Completed)
	case exit != nil:
		m.releaseThenFail(r, *exit)
	case fault.KindOf(err) == fault.Timeout: // the agent may still be compacting
		m.releaseThenFail(r, event.NewSessionError(err))
	default:
		m.fail(r, err)
	}
	m.advance()
}

// Sent ends [SendPrompt].
func (m *Machine) Sent(err error) {
	stopped := m.stops(m.step.Run)
	r := m.done()
	switch {
	case r == nil && err != nil && !stopped: // the agent may have received it anyway
		m.release(release{})
	case r == nil:
	case err == nil:
		r.phase, r.accepted = Working, true
		m.noteHistory(r)
		m.deliver(r)
	case m.stops(r):
		r.phase = Working
	default: // the agent may have received it anyway
		m.releaseThenFail(r, event.NewSessionError(err))
	}
	m.advance()
}

// Worked reports that the agent said or did something that would be lost with its copy of the conversation.
func (m *Machine) Worked() {
	if r := m.run; r != nil && !r.worked {
		r.worked = true
		m.noteHistory(r)
	}
}

func (m *Machine) noteHistory(r *Run) {
	if m.history != HasContent && r.accepted && r.worked {
		m.history = HasContent
		m.emit(Changed{})
	}
}

// Idle reports that the agent is idle, possibly after work that no prompt asked for.
func (m *Machine) Idle(i event.Idle) {
	switch r := m.run; {
	case r == nil || !r.sent():
	case r.delivering: // the agent may have read it
		r.idle = &i
	default:
		r.accepted = true // even if Sent comes later
		m.noteHistory(r)
		m.endIdle(r, i)
		m.advance()
	}
}

func (m *Machine) endIdle(r *Run, i event.Idle) {
	if i.Aborted {
		m.end(r, event.Cancelled)
		return
	}
	m.end(r, event.Completed)
}

// EndSilent ends, with a notice, a run whose agent is idle without having reported it; false if a prompt is being
// delivered, or the agent is not working.
func (m *Machine) EndSilent(run string, notice event.Notice) bool {
	r := m.run
	if r == nil || r.ID != run || r.phase != Working && r.phase != Finishing || r.delivering {
		return false
	}
	m.record("", notice)
	m.end(r, event.Completed)
	m.advance()
	return true
}

// Fail records a failure and, during a run, keeps it as the run's reason.
func (m *Machine) Fail(agent string, f event.SessionError) {
	if m.run != nil && m.run.sent() {
		m.run.failure = f.Text
	}
	m.record(agent, f)
}

// Exited reports that the agent's process has ended. During a step it does nothing, because the step fails by itself.
func (m *Machine) Exited(exit event.SessionError) {
	if m.step.Step != NoStep || m.conversation == 0 {
		return
	}
	m.releaseThenFail(m.run, exit)
}

// releaseThenFail releases the conversation, records a failure and ends the run with it, if there is one.
func (m *Machine) releaseThenFail(r *Run, failure event.SessionError) {
	m.release(release{&failure, r})
}

func (m *Machine) release(then release) {
	if then.run != nil {
		then.run.phase = Releasing
	}
	m.released = then
	m.begin(ReleaseConversation)
}

// Aborted ends [AbortRun]. If the agent did not end the run, its conversation is released, so that late events do not reach the next one.
func (m *Machine) Aborted() {
	if r := m.done(); r != nil {
		m.release(release{run: r})
		return
	}
	m.advance()
}

// Released ends [ReleaseConversation].
func (m *Machine) Released() {
	m.done()
	then := m.released
	m.released = release{}
	if then.failure != nil {
		m.record("", *then.failure)
	}
	if then.run != nil && then.run == m.run {
		outcome := event.Cancelled
		if then.failure != nil {
			outcome, then.run.failure = event.Failed, then.failure.Text
		}
		m.end(then.run, outcome)
	}
	m.advance()
}

// fail ends a run with a failure.
func (m *Machine) fail(r *Run, err error) {
	m.record("", event.NewSessionError(err))
	r.failure = err.Error()
	m.end(r, event.Failed)
}

// end records the end of the current run. The next one starts at once, so that there is always a run to cancel
// while prompts wait.
func (m *Machine) end(r *Run, o event.Outcome) {
	switch {
	case m.state.Resumes() && !r.Cancelled():
		o = event.Interrupted
	case r.Cancelled() || m.state != Active:
		o = event.Cancelled
	case r.failure != "":
		o = event.Failed
	}
	m.returnSlot(r)
	m.withdraw()
	text := r.failure
	if o == event.Completed && r.join == joined {
		text = SentEarlier
	}
	m.record("", event.RunEnded{Outcome: o, Text: text})
	m.run, r.phase = nil, Ended
	returned := m.rejoinQueue()
	lost := m.requeueSteers(r)
	if m.state == Active || m.state.Resumes() {
		m.queue = append(lost, m.queue...)
	}
	m.startNext(returned || len(lost) > 1)
}

// startNext starts the next queued run. isNews reports that the queue has grown since clients were informed.
func (m *Machine) startNext(isNews bool) {
	if len(m.queue) == 0 {
		return
	}
	next := m.queue[0]
	m.queue = m.queue[1:]
	m.start(next)
	if isNews && len(m.queue) > 0 {
		m.queueChanged()
	}
}

// canLeaveRunOpen reports whether the current run stays open when the portal stops: all that it waits for can be
// answered later.
func (m *Machine) canLeaveRunOpen() bool {
	r := m.run
	if r == nil || m.state != Stopping || !m.continues || r.stop != stopNone || len(m.open) == 0 {
		return false
	}
	if !r.sent() || len(r.answers) > 0 { // the prompt, or an answer, would be lost
		return false
	}
	for _, q := range m.open {
		if !q.SurvivesRestart() {
			return false
		}
	}
	return !slices.ContainsFunc(m.queue, (*Run).OnlyCompacts) // the store does not have those
}

// Package session contains the rules of one session as a state machine: which prompt runs when, what a run waits for, how it
// ends, which questions are open. The machine itself does nothing. Each input changes its state and yields effects, which
// its owner performs; slow effects are steps, whose results are further inputs. The machine uses no clock,
// goroutine or store, so that a simulation can drive it through millions of steps.
package session

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// Machine is the state of one session. Its owner guards it with a lock, and performs [Machine.Effects] after each
// input.
type Machine struct {
	newID         func() string
	state         State
	history       History
	run           *Run   // nil between runs
	queue         []*Run // runs that follow; empty without a run
	open          map[string]event.Question
	answered      map[string]bool // questions that were closed
	conversation  int             // number of the current one, 0 if none
	conversations int             // number of conversations so far
	step          Begin           // the current step
	released      release         // what follows ReleaseConversation
	continues     bool            // see [Machine.Stop]
	effects       []Effect
}

// release is what follows the release of the conversation.
type release struct {
	failure *event.SessionError // to record, and why the run fails; nil: it was cancelled
	run     *Run                // to end if it is still the current one; nil for none
}

// NewMachine returns the machine of a new session. newID returns ids for runs.
func NewMachine(newID func() string) Machine {
	return Machine{newID: newID, open: map[string]event.Question{}, answered: map[string]bool{}}
}

// Effects returns the effects of the inputs since the last call, in order.
func (m *Machine) Effects() []Effect {
	effects := m.effects
	m.effects = nil
	return effects
}

func (m *Machine) emit(e Effect) { m.effects = append(m.effects, e) }

// record appends an event of the current run, if there is one.
func (m *Machine) record(agent string, b event.Body) {
	m.emit(Record{Run: m.RunID(), Agent: agent, Body: b})
}

// State returns the state of the session.
func (m *Machine) State() State { return m.state }

// History returns what the agent has saved of the conversation.
func (m *Machine) History() History { return m.history }

// SetHistory sets the history of a loaded or copied session.
func (m *Machine) SetHistory(h History) { m.history = h }

// Run returns the current run, nil if there is none.
func (m *Machine) Run() *Run { return m.run }

// RunID returns the id of the current run, "" if there is none.
func (m *Machine) RunID() string {
	if m.run == nil {
		return ""
	}
	return m.run.ID
}

// Queue returns the runs that wait for the current one, in order. The caller must not modify it.
func (m *Machine) Queue() []*Run { return m.queue }

// Activate makes the session accept prompts. A recovered run continues.
func (m *Machine) Activate() {
	m.state = Active
	m.advance()
}

// SetStored sets the state of an inactive session from the store.
func (m *Machine) SetStored(closed, elsewhere bool) {
	switch {
	case elsewhere:
		m.state = Elsewhere
	case closed:
		m.state = Closed
	default:
		m.state = Suspended
	}
}

// Close ends the run and drops the queued ones. For an inactive session, use [Machine.CloseStored].
func (m *Machine) Close() { m.shutDown(Closing) }

// Stop ends the run, unless it waits for answers that can be given later, and the queued ones. The next use of the session
// activates it again. Only a session with a store can be stopped. continues reports whether open questions survive the death of the
// agent's process.
func (m *Machine) Stop(continues bool) {
	m.continues = continues
	m.shutDown(Stopping)
}

func (m *Machine) shutDown(to State) {
	if m.state != Active {
		return
	}
	m.state = to
	if to == Closing {
		m.queue = nil
	}
	m.emit(Changed{})
	m.emit(Interrupt{})
	m.advance()
}

// Suspend starts to suspend an idle session; it returns false if the session is not idle. [Machine.Suspended] must follow when the
// conversation is released.
func (m *Machine) Suspend() bool {
	if m.state != Active || m.run != nil || len(m.open) > 0 || m.step.Step != NoStep {
		return false
	}
	m.state = Suspending
	return true
}

// Suspended completes [Machine.Suspend].
func (m *Machine) Suspended() {
	if m.state != Suspending { // another process has acquired the session meanwhile
		m.state = Closed
		return
	}
	m.state = Suspended
}

// LeaveRunOpen completes the step [Finish] without ending the current run, which continues later; false if there is no such run. The
// conversation must not be closed, which would end what the run waits for.
func (m *Machine) LeaveRunOpen() bool {
	if !m.canLeaveRunOpen() {
		return false
	}
	m.returnSlot(m.run)
	m.emit(Record{Body: event.SessionClosed{}})
	m.state, m.step, m.conversation = Suspended, Begin{}, 0
	return true
}

// Finished completes the step [Finish]: the conversation is released.
func (m *Machine) Finished() {
	for m.run != nil {
		m.end(m.run, event.Cancelled)
	}
	m.emit(Record{Body: event.SessionClosed{}})
	m.step = Begin{}
	if m.state == Stopping {
		m.state = Suspended
	} else {
		m.state = Closed
	}
}

// CloseStored closes an inactive session. It ends a recovered run and drops the queued ones.
func (m *Machine) CloseStored() {
	m.state, m.queue = Closed, nil
	if m.run != nil {
		m.end(m.run, event.Cancelled)
	}
	m.emit(Record{Body: event.SessionClosed{}})
}

// Lose ends a session that another process has acquired.
func (m *Machine) Lose() {
	if m.state.AtRest() {
		m.state, m.queue = Closed, nil
		return
	}
	if m.state == Active {
		m.Close()
	}
	m.state, m.queue = Closing, nil
}

// Attach reports that the session has a conversation. [Machine.SendAnswers] must follow.
func (m *Machine) Attach() {
	m.conversations++
	m.conversation = m.conversations
}

// SendAnswers delivers the answers that were given in a recovered run before its agent was started.
func (m *Machine) SendAnswers() {
	if m.run == nil {
		return
	}
	for _, a := range m.run.answers {
		m.emit(a)
	}
	m.run.answers = nil
}

// Detach reports that the session has lost its conversation. It withdraws the open questions.
func (m *Machine) Detach() {
	m.conversation = 0
	m.withdraw()
}

// Conversation returns the number of the session's conversation, 0 if it has none.
func (m *Machine) Conversation() int { return m.conversation }

// OpeningConversation reports that the agent is being asked to open the conversation. It returns the questions that the agent
// must ask again.
func (m *Machine) OpeningConversation() (pending []event.Question) {
	if m.history == NeverOpened { // the agent may know it from here on, even if the call fails
		m.history = Opened
		if !m.state.AtRest() { // otherwise it is stored when the session is active
			m.emit(Changed{})
		}
	}
	if m.run == nil {
		return nil
	}
	return m.run.pending
}

// Park drops the run, the queue and the questions of a session whose lease is released, without recording anything. It returns the
// queued runs, and whether a run is unfinished.
func (m *Machine) Park() (waiting []*Run, unfinished bool) {
	m.rejoinQueue()
	waiting = m.queue
	if m.run != nil {
		unfinished = true
		m.run.unread = nil // the next owner finds them in the record
		waiting = append(m.requeueSteers(m.run), m.queue...)
	}
	for _, id := range m.OpenQuestions() {
		m.emit(UnwatchQuestion{id})
		delete(m.open, id)
	}
	m.run, m.queue = nil, nil
	return waiting, unfinished
}

// InterruptedByKill is the reason of runs during which the portal was killed.
const InterruptedByKill = "the portal ended in the middle of it"

// Unfinished is what the last owner of a session left unfinished.
type Unfinished struct {
	Run       string           // the run without an end; "" for none
	Questions []event.Question // open questions of the run
	Orphans   []event.Question // open questions outside of the run, whose answers nothing waits for
	Steers    []event.Prompt   // that a process of the agent accepted during its last turn of the run: it would have read them before the next
	Queue     []*Run           // queued prompts
	Continues bool             // the questions survive the death of the agent's process

	resumed bool // the run was recovered; from then on it cannot be steered
}

// Apply follows the runs and questions in a record.
func (u *Unfinished) Apply(e event.Event) {
	switch b := e.Body.(type) {
	case event.RunStarted:
		u.Run = e.Run
	case event.RunEnded:
		*u = Unfinished{}
	case event.SessionOpened:
		u.resumed = u.Run != ""
	case event.UserMessage:
		if b.Prompt.Steer {
			u.Steers = append(u.Steers, b.Prompt)
		}
	case event.TurnStarted:
		if e.Agent == "" && !u.resumed {
			u.Steers = nil
		}
	case event.QuestionAsked:
		if u.Run == "" {
			u.Orphans = append(u.Orphans, b.Question)
		} else {
			u.Questions = append(u.Questions, b.Question)
		}
	case event.QuestionClosed:
		closed := func(q event.Question) bool { return q.ID == b.ID }
		u.Questions, u.Orphans = slices.DeleteFunc(u.Questions, closed), slices.DeleteFunc(u.Orphans, closed)
	}
}

// Recover recovers an inactive session whose last owner was killed. Its run continues if it waits for an answer that can still
// be given, unless a client had closed the session. Otherwise the run and the queued ones are interrupted.
func (m *Machine) Recover(left Unfinished) {
	if left.Run != "" {
		m.run = &Run{ID: left.Run, phase: Starting, accepted: true}
	}
	for _, q := range left.Orphans {
		m.expire(q)
	}
	if pending := m.reopenQuestions(left); len(pending) > 0 {
		m.run.pending, m.run.unread, m.queue = pending, left.Steers, left.Queue
		return
	}
	m.interruptRun()
	for _, r := range left.Queue {
		m.start(r)
		m.interruptRun()
	}
}

func (m *Machine) interruptRun() {
	if m.run == nil {
		return
	}
	m.record("", event.RunEnded{Outcome: event.Interrupted, Text: InterruptedByKill})
	m.run.phase = Ended
	m.run = nil
}

// reopenQuestions reopens the questions that can still be answered and expires the others.
func (m *Machine) reopenQuestions(left Unfinished) (open []event.Question) {
	for _, q := range left.Questions {
		if !left.Continues || !q.SurvivesRestart() || m.state != Suspended {
			m.expire(q)
			continue
		}
		m.open[q.ID] = q
		open = append(open, q)
		m.emit(WatchQuestion{q})
	}
	return open
}

// expire closes a question that was left open.
func (m *Machine) expire(q event.Question) {
	m.open[q.ID] = q
	m.CloseQuestion(event.QuestionClosed{ID: q.ID, Ending: event.Expired})
}

package session

import (
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// steer adds a prompt to the current run.
func (m *Machine) steer(p event.Prompt) (run string, err error) {
	r := m.run
	if len(r.steers) >= maxQueue {
		return "", fault.Errorf(fault.Busy, "%d prompts wait already; try again when the agent has read some", maxQueue)
	}
	if r.pending != nil { // a CLI that resumes a call ends it twice if a prompt steers it
		return m.submit(p)
	}
	if err := m.checkRoom(p, nil, nil); err != nil {
		return "", err
	}
	p.RefuseIfBusy, p.Tools = false, nil
	r.steers = append(r.steers, steer{prompt: p})
	m.deliver(r)
	return r.ID, nil
}

// deliver gives the agent the next prompt that steers, unless one is being delivered.
func (m *Machine) deliver(r *Run) {
	if r.delivering || !m.steerable(r) {
		return
	}
	r.delivering = true
	next := r.steers[0]
	r.steers = r.steers[1:]
	m.emit(Deliver{r, m.conversation, next.prompt, next.from})
}

// steerable reports whether a prompt waits and the agent would read it.
func (m *Machine) steerable(r *Run) bool {
	return m.run == r && m.state == Active && r.phase == Working && r.stop == stopNone && r.idle == nil && len(r.steers) > 0 && m.conversation != 0
}

// Delivered ends [Deliver]. A prompt that came too late for its run, or was lost with its agent, gets a run of its own after
// the current one. alive reports whether the agent's process still runs.
func (m *Machine) Delivered(d Deliver, err error, alive bool) {
	r := d.Run
	r.delivering = false
	m.noteDelivery(d, err, alive && d.Conversation == m.conversation)
	m.deliver(r)
	if !r.delivering && r.idle != nil && m.run == r {
		m.endIdle(r, *r.idle)
	}
	m.advance()
}

func (m *Machine) noteDelivery(d Deliver, err error, attached bool) {
	r := d.Run
	switch {
	case m.run != r && d.from != nil: // it waits for its turn again
	case m.run != r && err != nil:
		_, _ = m.enqueue(m.newRun(d.Prompt)) // fails if the session is closed or the queue is full; the client has its answer already
	case m.run != r:
	case err == nil:
		m.record("", event.UserMessage{Prompt: d.Prompt})
		m.noteJoined(d.from, true)
	case d.from != nil && d.from.Cancelled():
	case errors.Is(err, fault.ErrIdle), !attached, m.stops(r):
		r.steers = slices.Insert(r.steers, 0, steer{d.Prompt, d.from})
		if r.phase == Working { // the agent would not read later prompts
			r.phase = Finishing
		}
	default:
		m.Fail("", event.NewSessionError(fault.Errorf(fault.KindOf(err), "the prompt did not reach the agent: %w", err)))
		m.noteJoined(d.from, false)
	}
}

// requeueSteers returns runs for the prompts that came too late for theirs, except those that have one in the queue, and for those that
// were lost with a process of the agent.
func (m *Machine) requeueSteers(r *Run) []*Run {
	runs := make([]*Run, 0, len(r.steers)+len(r.unread))
	for _, p := range r.unread {
		if !r.Cancelled() { // otherwise they end with their run
			runs = append(runs, m.newRun(p))
		}
	}
	for _, s := range r.steers {
		if s.from == nil {
			runs = append(runs, m.newRun(s.prompt))
		}
	}
	r.steers = nil
	return runs
}

package session

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// join is how far a queued prompt has joined the current run. The queued run itself then ends in its turn, completed and
// without the agent, so that whoever waits for it learns of its end.
type join int

const (
	notJoined join = iota
	joining        // the prompt waits to be delivered; its run works on it if that fails
	joined         // the agent has the prompt
)

// maxWaiting is the maximum size of the prompts that wait in a session, in bytes: they are stored together. One that waits alone may be
// larger.
const maxWaiting = 64 << 20

// checkRoom fails if a prompt would be too much beside those that wait, without that of a run which it replaces, if any.
func (m *Machine) checkRoom(p event.Prompt, tools *[]event.Tool, replaced *Run) error {
	waiting := 0
	for _, r := range m.queue {
		if r != replaced {
			waiting += promptSize(r.Prompt, r.tools)
		}
	}
	for _, s := range m.run.steers {
		if s.from == nil {
			waiting += promptSize(s.prompt, nil)
		}
	}
	if waiting > 0 && waiting+promptSize(p, tools) > maxWaiting {
		return fault.Errorf(fault.Busy, "the prompts that wait would exceed %d MiB, with their attachments; try again when some have run, or attach files by their paths", maxWaiting>>20)
	}
	return nil
}

// promptSize estimates the size of a prompt, in bytes.
func promptSize(p event.Prompt, tools *[]event.Tool) int {
	size := event.Cost(event.Event{Body: event.UserMessage{Prompt: p}})
	if tools != nil {
		for _, t := range *tools {
			size += event.EntryCost + len(t.Description) + len(t.Schema)
		}
	}
	return size
}

// SentEarlier is the text of the end of a run whose prompt was sent into the run before it.
const SentEarlier = "the prompt was sent into an earlier run"

// Waits reports whether a queued run waits for its turn: it is neither cancelled nor sent into the current run.
func (r *Run) Waits() bool { return !r.Cancelled() && r.join == notJoined }

// NeedsStore reports whether the prompt of a queued run would be lost with this process.
func (r *Run) NeedsStore() bool { return !r.Cancelled() && !r.OnlyCompacts() && r.join != joined }

// Edit replaces the text of a queued prompt; everything else of the prompt stays. Errors: [fault.ErrRunNotFound] if it is no longer
// queued, [fault.ErrSessionClosed], those of [event.Prompt.Check], kind [fault.Busy] if it is too large.
func (m *Machine) Edit(id, text string) error {
	i, err := m.queued(id)
	if err != nil {
		return err
	}
	old := m.queue[i]
	if old.OnlyCompacts() {
		return fault.Errorf(fault.Invalid, "a compaction has no text to edit")
	}
	p := old.Prompt
	p.Text = text
	if err := p.Check(); err != nil {
		return err
	}
	if err := m.checkRoom(p, old.tools, old); err != nil {
		return err
	}
	m.queue[i] = &Run{ID: old.ID, Prompt: p, tools: old.tools}
	m.queueChanged()
	return nil
}

// Move moves a queued run before another one, or to the end if before is "". Errors: [fault.ErrRunNotFound] if one of them is no longer
// queued, [fault.ErrSessionClosed].
func (m *Machine) Move(id, before string) error {
	from, err := m.queued(id)
	if err != nil || id == before {
		return err
	}
	if before != "" {
		if _, err = m.queued(before); err != nil {
			return err
		}
	}
	r := m.queue[from]
	m.queue = slices.Delete(m.queue, from, from+1)
	to := len(m.queue)
	if before != "" {
		to, _ = m.queued(before)
	}
	m.queue = slices.Insert(m.queue, to, r)
	m.queueChanged()
	return nil
}

// SendNow sends a queued prompt into the current run, whose id it returns. If the run ends first, the prompt is the
// next to run. Errors: [fault.ErrRunNotFound] if it is no longer queued, [fault.ErrSessionClosed], kind [fault.Invalid] for a
// prompt that cannot steer, kind [fault.Busy] if the current run accepts none.
func (m *Machine) SendNow(id string) (run string, err error) {
	i, err := m.queued(id)
	if err != nil {
		return "", err
	}
	r, current := m.queue[i], m.run
	switch {
	case r.Prompt.Compact:
		return "", fault.Errorf(fault.Invalid, "a prompt that compacts the conversation cannot be sent into a run: it needs its own")
	case r.tools != nil:
		return "", fault.Errorf(fault.Invalid, "a prompt that replaces tools cannot be sent into a run: it needs its own")
	case current.pending != nil: // see steer
		return "", fault.Errorf(fault.Busy, "the run continues after a restart and takes no more prompts: the prompt runs after it")
	case len(current.steers) >= maxQueue:
		return "", fault.Errorf(fault.Busy, "%d prompts wait already; try again when the agent has read some", maxQueue)
	}
	r.join = joining
	m.queue = slices.Delete(m.queue, i, i+1)
	m.queue = slices.Insert(m.queue, m.countJoined(), r) // the next, if its delivery fails
	m.queueChanged()
	p := r.Prompt
	p.Steer = true
	current.steers = append(current.steers, steer{p, r})
	m.deliver(current)
	return current.ID, nil
}

// queued returns the position of a run that waits for its turn.
func (m *Machine) queued(id string) (int, error) {
	if m.state != Active {
		return 0, fault.ErrSessionClosed
	}
	if i := slices.IndexFunc(m.queue, func(r *Run) bool { return r.ID == id && r.Waits() }); i >= 0 {
		return i, nil
	}
	return 0, fault.ErrRunNotFound
}

// countJoined returns how many runs at the start of the queue have joined the current one.
func (m *Machine) countJoined() int {
	if i := slices.IndexFunc(m.queue, func(r *Run) bool { return r.join == notJoined }); i >= 0 {
		return i
	}
	return len(m.queue)
}

// withdrawSteer keeps a queued prompt that was cancelled from joining the run, unless it is being delivered.
func (m *Machine) withdrawSteer(r *Run) {
	if r.join == joining {
		m.run.steers = slices.DeleteFunc(m.run.steers, func(s steer) bool { return s.from == r })
	}
}

// rejoinQueue makes the queued prompts that did not reach the current run wait for their turn again. It reports whether clients see
// more prompts now.
func (m *Machine) rejoinQueue() (isNews bool) {
	for _, r := range m.queue {
		if r.join == joining {
			r.join = notJoined
			isNews = isNews || !r.Cancelled()
		}
	}
	return isNews
}

// noteJoined ends the delivery of a queued prompt.
func (m *Machine) noteJoined(r *Run, delivered bool) {
	if r == nil || r.join != joining {
		return
	}
	if delivered {
		r.join = joined
		m.emit(Changed{})
		return
	}
	r.join = notJoined
	m.queueChanged()
}

// queueChanged reports a change of the queue that no start of a run reports.
func (m *Machine) queueChanged() { m.emit(Changed{Queue: true, Run: m.RunID()}) }

// steer is a prompt that steers a run. from is the queued run whose prompt it is, nil for none.
type steer struct {
	prompt event.Prompt
	from   *Run
}

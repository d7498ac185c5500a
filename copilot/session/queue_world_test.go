package session_test

import (
	"fmt"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
)

// changeQueue simulates a client that edits, moves or sends a queued prompt, perhaps too late.
func (w *world) changeQueue() {
	runs := []string{"gone", w.machine.RunID()}
	for _, r := range w.machine.Queue() {
		runs = append(runs, r.ID)
	}
	run, before := runs[w.rng.IntN(len(runs))], runs[w.rng.IntN(len(runs))]
	switch w.rng.IntN(3) {
	case 0:
		w.edit(run)
	case 1:
		if w.chance(30) {
			before = ""
		}
		w.move(run, before)
	case 2:
		w.do("send "+run+" now", func(m *session.Machine) {
			if _, err := m.SendNow(run); err == nil {
				w.check.texts[run] = m.Find(run).Prompt.Text // perhaps of a prompt that came too late
				w.check.reordered(m)
			}
		})
	}
}

func (w *world) edit(run string) {
	text := ""
	if w.chance(90) {
		text = "edited " + w.newID()
	}
	w.do("edit "+run, func(m *session.Machine) {
		var old string
		if r := m.Find(run); r != nil {
			old = r.Prompt.Text
		}
		if err := m.Edit(run, text); err == nil {
			w.check.texts[run] = text
			delete(w.check.steers, old) // of a prompt that came too late
		}
	})
}

func (w *world) move(run, before string) {
	w.do("move "+run+" before "+before, func(m *session.Machine) {
		if m.Move(run, before) != nil || run == before {
			return
		}
		w.check.reordered(m)
		all := visible(m)
		if i := slices.Index(all, run); before == "" && i != len(all)-1 || before != "" && all[i+1] != before {
			panic(fmt.Sprintf("%s is not before %q: %v", run, before, all))
		}
	})
}

// reordered notes that a client has changed the order of the queue.
func (c *checker) reordered(m *session.Machine) {
	c.order = keep(c.order, m.Queue())
	for _, r := range m.Queue() {
		c.passed[r.Prompt.Text] = true
	}
}

// keep returns the accepted runs in the order of the queue, which must hold the same ones.
func keep(order []string, queue []*session.Run) []string {
	var now []string
	for _, r := range queue {
		if slices.Contains(order, r.ID) {
			now = append(now, r.ID)
		}
	}
	if len(now) != len(order) {
		panic(fmt.Sprintf("the queue loses runs: %v becomes %v", order, now))
	}
	return now
}

// visible returns the queue as clients see it.
func visible(m *session.Machine) (runs []string) {
	for _, r := range m.Queue() {
		if r.Waits() {
			runs = append(runs, r.ID)
		}
	}
	return runs
}

// queueChecker checks that clients see every change of the queue, and that a queued prompt reaches the agent once, as it was last edited.
type queueChecker struct {
	shown  []string          // the queue according to the events
	passed map[string]bool   // texts that others may overtake, because a client has changed the order
	texts  map[string]string // of accepted runs
	in     map[string]string // the runs in which the prompts are recorded, by text
}

func newQueueChecker() queueChecker {
	return queueChecker{passed: map[string]bool{}, texts: map[string]string{}, in: map[string]string{}}
}

// queue compares the queue with what the events say.
func (c *queueChecker) queue(m *session.Machine) {
	if now := visible(m); m.State() == session.Active && !slices.Equal(now, c.shown) {
		panic(fmt.Sprintf("clients see the queue %v, but it is %v", c.shown, now))
	}
}

// recovered notes the queue that clients read when the session is found again.
func (c *queueChecker) recovered(m *session.Machine) { c.shown = visible(m) }

// left notes that a run has started.
func (c *queueChecker) left(run string) {
	c.shown = slices.DeleteFunc(slices.Clone(c.shown), func(id string) bool { return id == run })
}

// message checks a recorded prompt.
func (c *queueChecker) message(run string, p event.Prompt) {
	if text, known := c.texts[run]; known && !p.Steer && text != p.Text {
		panic(fmt.Sprintf("run %s has the prompt %q, not %q", run, p.Text, text))
	}
	c.in[p.Text] = run
}

// isElsewhere reports whether the prompt of a run is recorded in another run.
func (c *queueChecker) isElsewhere(run string) bool {
	in, found := c.in[c.texts[run]]
	return found && in != run && c.texts[run] != ""
}

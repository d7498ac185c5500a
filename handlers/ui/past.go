package ui

import (
	"context"
	"errors"
	"slices"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
)

// bounds of what is told of the past (contract 5.5).
type bounds struct{ runs, events int }

const (
	defaultRuns   = 20
	defaultEvents = 1500

	leastWindow = 256  // entries that are read back at first, at least
	firstWindow = 4096 // and at most
	batch       = 512  // entries that are read at a time
)

// past is what happened in a session until now, as it is told.
type past struct {
	narrator
	messages []message
	runs     int    // that begin in it
	gap      bool   // what was before is not kept any more
	before   string // a cursor: what was before was not read; "" if there is nothing
}

// recount reads back from a number until there is enough to be told within the
// bounds. The end
// of a long record is found by reading ever more of it: less than a third is read
// twice.
func recount(ctx context.Context, record *copilot.Record, b bounds, last uint64) (*past, error) {
	for window := uint64(min(firstWindow, max(leastWindow, 2*b.events))); ; window *= 4 {
		from := last - min(last, window)
		p := &past{narrator: narrator{teller: newTeller(), after: from}}
		if err := p.read(ctx, record, last, from == 0); err != nil {
			return nil, err
		}
		if from == 0 || p.gap || p.runs > 0 && (p.runs >= b.runs || len(p.messages) >= b.events) {
			return p, nil
		}
	}
}

// read tells what stands up to a number, from the first run that begins there;
// before it only if that is the beginning of the record.
func (p *past) read(ctx context.Context, record *copilot.Record, last uint64, whole bool) error {
	for p.after < last {
		entries, err := record.Next(ctx, p.after, batch)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			*p = past{narrator: narrator{teller: newTeller(), after: gap.First - 1}, gap: true}
			whole = true
			continue
		case err != nil:
			return unreadable(err)
		}
		for _, e := range entries {
			if e.N > last {
				break
			}
			if isBegin(e) {
				p.runs++
				if !whole && p.runs == 1 {
					p.before = cursor{record.Position(e.N - 1), 0, 0}.String()
				}
			}
			if whole || p.runs > 0 {
				p.add(record, e)
			}
		}
		p.after = min(entries[len(entries)-1].N, last) // also if that was dropped meanwhile
	}
	return nil
}

// add tells an entry. Pieces of what is complete are left out.
func (p *past) add(record *copilot.Record, e journal.Entry[copilot.Event]) {
	told := p.tell(record, e)
	if !e.Superseded {
		p.messages = append(p.messages, told...)
	}
}

func isBegin(e journal.Entry[copilot.Event]) bool {
	_, ok := e.Value.Body.(copilot.RunStarted)
	return ok
}

// unreadable says for people that a record could not be read.
func unreadable(err error) error {
	if copilot.KindOf(err) != copilot.Internal || errors.Is(err, context.Canceled) {
		return err
	}
	return copilot.Errorf(copilot.Unavailable, "the session's record could not be read: %w", err)
}

// taken is what a UI is told of a past.
type taken struct {
	messages  []message
	runs      int
	truncated bool   // there is more, or was
	earlier   string // a cursor: up to there it can be asked for; "" if there is nothing
}

// latest gives the messages that a UI wants, at most so many of the newest runs
// and events.
func (p *past) latest(b bounds, wants func(message) bool) taken {
	t, count := taken{truncated: p.gap || p.before != "", earlier: p.before}, count{told: map[string]bool{}}
	for _, m := range slices.Backward(p.messages) {
		if !wants(m) || count.isStale(m) {
			continue
		}
		if !count.add(m, b) {
			t.truncated, t.earlier = true, m.cursor
			break
		}
		t.messages = append(t.messages, m)
	}
	slices.Reverse(t.messages)
	t.runs = count.runs
	return t
}

// count is what was taken of the past so far, from its end on.
type count struct {
	bounds
	run  string
	told map[string]bool // by what only the last one is of interest
}

// isStale says whether a later message stands for this one.
func (c *count) isStale(m message) bool {
	stale := c.told[m.latest]
	c.told[m.latest] = m.latest != ""
	return stale
}

// add counts a message; false if that would be too many.
func (c *count) add(m message, most bounds) bool {
	if m.method != notifyEvent {
		return true
	}
	isNew := m.run != "" && m.run != c.run
	if c.events == most.events || isNew && c.runs == most.runs {
		return false
	}
	c.events++
	if isNew {
		c.run = m.run
		c.runs++
	}
	return true
}

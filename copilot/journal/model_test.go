package journal_test

import (
	"context"
	"io"
	"slices"

	"github.com/copilot-portal/portal/copilot/journal"
)

// model is the simplest implementation of a journal: a slice of the kept entries.
type model struct {
	budget int
	kept   []modelled
	last   uint64
	lost   uint64
	closed bool
}

type modelled struct {
	event
	n       uint64
	endedBy uint64 // number of the end that supersedes it
}

func (m *model) append(e event) (uint64, error) {
	if m.closed {
		return 0, journal.ErrClosed
	}
	m.last++
	m.kept = append(m.kept, modelled{event: e, n: m.last})
	if e.key != "" && e.end {
		m.end(e.key)
	}
	for m.budget > 0 && m.total() > m.budget && len(m.kept) > 1 {
		m.evict()
	}
	return m.last, nil
}

func (m *model) end(key string) {
	for i := range m.kept {
		if e := &m.kept[i]; e.key == key && !e.end && e.endedBy == 0 {
			e.endedBy = m.last
		}
	}
}

func (m *model) total() int {
	total := 0
	for _, e := range m.kept {
		total += max(0, e.cost)
	}
	return total
}

// evict drops the first superseded entry of the group that ended first, or otherwise the oldest entry.
func (m *model) evict() {
	victim := -1
	for i, e := range m.kept {
		if e.endedBy > 0 && (victim < 0 || e.endedBy < m.kept[victim].endedBy) {
			victim = i
		}
	}
	if victim < 0 {
		victim = 0
		m.lost = m.kept[0].n
	}
	m.kept = slices.Delete(m.kept, victim, victim+1)
}

func (m *model) trim(upTo uint64) {
	m.kept = slices.DeleteFunc(m.kept, func(e modelled) bool { return e.n <= upTo && e.endedBy > 0 })
}

func (m *model) next(after uint64, limit int) ([]journal.Entry[event], error) {
	if limit <= 0 {
		limit = 256
	}
	if after < m.lost {
		return nil, &journal.GapError{After: after, First: m.kept[0].n}
	}
	var entries []journal.Entry[event]
	for _, e := range m.kept {
		if e.n > after && len(entries) < limit {
			entries = append(entries, journal.Entry[event]{N: e.n, Value: e.event, Superseded: e.endedBy > 0})
		}
	}
	switch {
	case len(entries) > 0:
		return entries, nil
	case m.closed:
		return nil, io.EOF
	}
	return nil, context.Canceled
}

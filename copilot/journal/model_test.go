package journal_test

import (
	"context"
	"io"

	"github.com/copilot-portal/portal/copilot/journal"
)

// model does what a journal should, in the plainest way: with a slice of everything that was ever appended.
type model struct {
	budget  int
	entries []modelled
	lost    uint64
	closed  bool
}

type modelled struct {
	event
	endedBy uint64 // the number of the end that supersedes it
	gone    bool
}

func (m *model) last() uint64 { return uint64(len(m.entries)) }

func (m *model) append(e event) (uint64, error) {
	if m.closed {
		return 0, journal.ErrClosed
	}
	m.entries = append(m.entries, modelled{event: e})
	if e.key != "" && e.end {
		m.end(e.key)
	}
	for m.budget > 0 && m.total() > m.budget {
		if i, ok := m.victim(); ok {
			m.entries[i].gone = true
			continue
		}
		break
	}
	return m.last(), nil
}

func (m *model) end(key string) {
	for i := range m.entries {
		if e := &m.entries[i]; e.key == key && !e.end && e.endedBy == 0 {
			e.endedBy = m.last()
		}
	}
}

func (m *model) total() int {
	total := 0
	for _, e := range m.entries {
		if !e.gone {
			total += max(0, e.cost)
		}
	}
	return total
}

// victim returns the index of what goes next: of the superseded entries the first of the group that ended first, else the
// first of all but the newest.
func (m *model) victim() (int, bool) {
	victim, oldest := -1, -1
	for i, e := range m.entries {
		switch {
		case e.gone:
		case e.endedBy > 0 && (victim < 0 || e.endedBy < m.entries[victim].endedBy):
			victim = i
		case e.endedBy == 0 && oldest < 0:
			oldest = i
		}
	}
	if victim >= 0 {
		return victim, true
	}
	if oldest == len(m.entries)-1 {
		return 0, false
	}
	m.lost = uint64(oldest) + 1
	return oldest, true
}

func (m *model) trim(upTo uint64) {
	for i := range m.entries {
		if e := &m.entries[i]; uint64(i) < upTo && e.endedBy > 0 {
			e.gone = true
		}
	}
}

func (m *model) next(after uint64, limit int) ([]journal.Entry[event], error) {
	if limit <= 0 {
		limit = 256
	}
	var entries []journal.Entry[event]
	for i, e := range m.entries {
		if n := uint64(i) + 1; !e.gone && (n > after || after < m.lost) {
			entries = append(entries, journal.Entry[event]{N: n, Value: e.event, Superseded: e.endedBy > 0})
		}
	}
	switch {
	case after < m.lost:
		return nil, &journal.GapError{After: after, First: entries[0].N}
	case len(entries) > 0:
		return entries[:min(limit, len(entries))], nil
	case m.closed:
		return nil, io.EOF
	}
	return nil, context.Canceled
}

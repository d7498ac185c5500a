package journal_test

import (
	"context"
	"io"
	"slices"

	"github.com/copilot-portal/portal/copilot/journal"
)

// storedModel is a model on a store. It keeps every entry that was appended and not lost in a crash.
type storedModel struct {
	model
	pin   uint64     // newest number stored
	begin uint64     // the store has no entry up to this number
	all   []modelled // number n at n-1
}

func (m *storedModel) append(e event) (uint64, error) {
	if m.closed {
		return 0, journal.ErrClosed
	}
	m.last++
	m.all = append(m.all, modelled{event: e, n: m.last})
	m.kept = append(m.kept, modelled{event: e, n: m.last})
	if e.key != "" && e.end {
		m.end(e.key)
		m.endAll(e.key, m.last)
	}
	m.evict()
	return m.last, nil
}

func (m *storedModel) endAll(key string, n uint64) {
	for i := range m.all {
		if e := &m.all[i]; e.n < n && e.key == key && !e.end && e.endedBy == 0 {
			e.endedBy = n
		}
	}
}

// evict drops what the plain model drops, except entries that are not stored.
func (m *storedModel) evict() {
	for m.budget > 0 && m.total() > m.budget {
		victim := -1
		for i, e := range m.kept {
			if e.endedBy > 0 && e.endedBy <= m.pin && (victim < 0 || e.endedBy < m.kept[victim].endedBy) {
				victim = i
			}
		}
		if victim < 0 {
			first := m.kept[0]
			if first.n == m.last || first.n > m.pin || first.endedBy > 0 {
				return
			}
			m.lost, victim = first.n, 0
		}
		m.kept = slices.Delete(m.kept, victim, victim+1)
	}
}

func (m *storedModel) trim(upTo uint64) {
	m.kept = slices.DeleteFunc(m.kept, func(e modelled) bool { return e.n <= upTo && e.endedBy > 0 && e.endedBy <= m.pin })
}

// crash loses unstored entries and continues with the stored entries after a number.
func (m *storedModel) crash(after uint64, sparse, plain bool) {
	m.all = m.all[:m.pin]
	for i := range m.all {
		if m.all[i].endedBy > m.pin {
			m.all[i].endedBy = 0
		}
	}
	m.kept, m.last, m.lost, m.closed = nil, m.pin, after, false
	for _, e := range m.all[after:] {
		if e.n <= m.begin || sparse && e.endedBy > 0 {
			continue
		}
		if e.endedBy > 0 && !plain {
			e.endedBy = 1 // the end is unknown, but before all others
		}
		m.kept = append(m.kept, e)
	}
	m.evict()
}

func (m *storedModel) next(after uint64, limit int, sparse bool) ([]journal.Entry[event], error) {
	if limit <= 0 {
		limit = 256
	}
	if after < m.lost {
		return m.load(after, limit, sparse)
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

// load returns the stored entries that are not in memory.
func (m *storedModel) load(after uint64, limit int, sparse bool) ([]journal.Entry[event], error) {
	first := m.last + 1
	if len(m.kept) > 0 {
		first = m.kept[0].n
	}
	limit = min(limit, int(first-1-after))
	var page []modelled
	for _, e := range m.all[:m.pin] {
		superseded := e.endedBy > 0 && e.endedBy <= m.pin
		if e.n > max(after, m.begin) && (!sparse || !superseded) {
			page = append(page, e)
		}
	}
	if after < m.begin || len(page) == 0 {
		if len(page) > 0 {
			first = min(first, page[0].n)
		}
		return nil, &journal.GapError{After: after, First: first}
	}
	page = page[:min(limit, len(page))]
	var entries []journal.Entry[event]
	for _, e := range page {
		entries = append(entries, journal.Entry[event]{N: e.n, Value: e.event, Superseded: e.endedBy > 0 && e.endedBy <= m.pin})
	}
	return entries, nil
}

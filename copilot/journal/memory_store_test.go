package journal_test

import (
	"context"
	"sync"

	"github.com/copilot-portal/portal/copilot/journal"
)

// memoryStore is the simplest implementation of a store. Its methods may be called concurrently.
type memoryStore struct {
	mu      sync.Mutex
	entries []journal.Entry[event]
	begin   uint64 // no entry up to this number is kept
	plain   bool   // omits flags where the journal finds the end itself
	sparse  bool   // omits superseded entries
	loads   int
	most    int // largest limit requested
}

// write adds entries and flags those that they supersede.
func (s *memoryStore) write(entries ...journal.Entry[event]) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range entries {
		e.Superseded = false
		if e.Value.end && e.Value.key != "" {
			s.supersede(e.Value.key)
		}
		s.entries = append(s.entries, e)
	}
}

func (s *memoryStore) supersede(key string) {
	for i := range s.entries {
		if v := s.entries[i].Value; v.key == key && !v.end {
			s.entries[i].Superseded = true
		}
	}
}

func (s *memoryStore) last() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.entries) == 0 {
		return 0
	}
	return s.entries[len(s.entries)-1].N
}

// after returns all entries after a number.
func (s *memoryStore) after(after uint64) []journal.Entry[event] {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []journal.Entry[event]
	for _, e := range s.entries {
		if e.N > max(after, s.begin) && (!s.sparse || !e.Superseded) {
			entries = append(entries, e)
		}
	}
	return entries
}

func (s *memoryStore) load(_ context.Context, after uint64, limit int) ([]journal.Entry[event], error) {
	entries := s.after(after)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loads++
	s.most = max(s.most, limit)
	if after < s.begin && len(entries) > 0 {
		return nil, &journal.GapError{After: after, First: entries[0].N}
	}
	entries = entries[:min(limit, len(entries))]
	if s.plain {
		unflag(entries)
	}
	return entries, nil
}

// unflag removes the flags of entries whose end is among them.
func unflag(entries []journal.Entry[event]) {
	for i := range entries {
		for _, end := range entries[i+1:] {
			if end.Value.end && end.Value.key == entries[i].Value.key {
				entries[i].Superseded = false
			}
		}
	}
}

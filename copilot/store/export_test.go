package store

import (
	"context"
	"io"
	"time"
)

// Match returns the FTS5 query for typed words.
func Match(words string) string { return parse(words).match() }

// Encode returns entries in the format of segments. Payloads stay references.
func Encode(entries []Entry, compressed bool) []byte {
	var all []packedEntry
	for _, e := range entries {
		all = append(all, pack(e))
	}
	if compressed {
		return deflate(encode(all))
	}
	return encode(all)
}

// Decode returns the entries of a segment without the payloads stored beside it.
func Decode(segment []byte) ([]Entry, error) {
	all, err := decode(segment)
	var entries []Entry
	for _, p := range all {
		entries = append(entries, Entry{Number: p.number, Data: p.data.bytes, Payload: p.payload.bytes})
	}
	return entries, err
}

// Started returns when a process started.
var Started = started

// Tidy does the pending background work now.
func (s *Store) Tidy(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		if err := w.flush(ctx); err != nil {
			return err
		}
		for len(w.rewrites) > 0 {
			w.rewriteAfter = time.Time{}
			w.rewriteStep(ctx)
		}
		return nil
	})
}

// Try does one step of the pending background work.
func (s *Store) Try(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		w.rewriteStep(ctx)
		return nil
	})
}

// FailAfter calls first and then fails like a write to a broken disk, in the goroutine that writes.
func (s *Store) FailAfter(ctx context.Context, first func()) error {
	return s.do(ctx, func(_ context.Context, w *writer) error {
		first()
		return w.options.describe(Failed, io.ErrUnexpectedEOF)
	})
}

// Recent returns how many pieces are kept for the log of the cluster, and their size in bytes.
func (s *Store) Recent() (pieces, bytes int) {
	s.recent.mu.Lock()
	defer s.recent.mu.Unlock()
	for _, list := range s.recent.pieces {
		pieces += len(list)
	}
	return pieces, s.recent.bytes
}

// Refused describes a system error.
var Refused = Options.systemFailure

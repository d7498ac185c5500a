package store

import (
	"context"
	"time"
)

// Match is what FTS5 is asked for what somebody typed.
func Match(words string) string { return parse(words).match() }

// Encode and Decode are the inner form of segments. Payloads stay names.
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

// Decode gives the entries without what is stored beside them.
func Decode(segment []byte) ([]Entry, error) {
	all, err := decode(segment)
	var entries []Entry
	for _, p := range all {
		entries = append(entries, Entry{Number: p.number, Data: p.data.bytes, Payload: p.payload.bytes})
	}
	return entries, err
}

// Started tells when a process started.
var Started = started

// Tidy does at once what waits until there is time for it.
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

// Try does one step of what waits until there is time for it.
func (s *Store) Try(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error {
		w.rewriteStep(ctx)
		return nil
	})
}

// Lock keeps others from opening a file, and Refused says in words what the system does not allow.
var (
	Lock    = lock
	Refused = Options.refused
)

package store

import (
	"context"
	"database/sql"
	"errors"
	"math"
)

// mark names a position in a session.
type mark struct{ session, name string }

// maxRemarks bounds what may wait while the file cannot be written.
const maxRemarks = 10_000

// SetPosition remembers a number under a name, as [Lease.Position] does, for a session that this process does not hold: one
// can read what is at rest. It never waits; if the session is not there, nothing is remembered. While very many wait to
// be written it fails with [ErrBacklog].
func (s *Store) SetPosition(session, name string, number uint64) error {
	if number > math.MaxInt64 {
		return ErrOrder
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if len(s.marks) >= maxRemarks {
		return ErrBacklog
	}
	if s.marks == nil {
		s.marks = map[mark]uint64{}
	}
	s.marks[mark{session, name}] = number
	signal(s.wake)
	return nil
}

func (w *writer) hasRemarks() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.marks) > 0
}

// writePositions writes the positions in sessions that are not held here.
func (w *writer) writePositions(ctx context.Context) error {
	w.mu.Lock()
	marks := w.marks
	w.marks = nil
	w.mu.Unlock()
	if len(marks) == 0 {
		return nil
	}
	err := w.db.transaction(ctx, func() error {
		for m, number := range marks {
			if err := w.writePosition(ctx, m, number); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.requeuePositions(marks)
	}
	return err
}

func (w *writer) writePosition(ctx context.Context, m mark, number uint64) error {
	var key int64
	err := w.db.row(ctx, "SELECT key FROM session WHERE id = ?", []any{m.session}, &key)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil
	case err != nil:
		return err
	}
	return w.position(ctx, key, m.name, number)
}

// requeuePositions keeps what could not be written, but for what has been given anew.
func (w *writer) requeuePositions(marks map[mark]uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for m, number := range w.marks {
		marks[m] = number
	}
	w.marks = marks
}

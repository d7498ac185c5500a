package store

import (
	"context"
	"slices"
)

// HeldElsewhere returns the sessions that other living processes hold, newest change first.
func (s *Store) HeldElsewhere(ctx context.Context) ([]Session, error) {
	list, err := many(ctx, s, scanSession(s.deadCache()), selectSession+" WHERE session.owner IS NOT NULL AND session.owner <> ? ORDER BY changed DESC, id DESC", s.self.key)
	return slices.DeleteFunc(list, func(h Session) bool { return h.Owner == 0 }), err
}

package store

import (
	"context"
	"slices"
)

// HeldByOthers returns the sessions that other living processes on this file hold, newest change first.
func (s *Store) HeldByOthers(ctx context.Context) ([]Session, error) {
	return s.heldWhere(ctx, "NOT GLOB")
}

// HeldByNodes returns the sessions that other nodes of the cluster hold, newest change first.
func (s *Store) HeldByNodes(ctx context.Context) ([]Session, error) { return s.heldWhere(ctx, "GLOB") }

// heldWhere returns the sessions of other living processes whose host compares in this way with those of nodes.
func (s *Store) heldWhere(ctx context.Context, comparison string) ([]Session, error) {
	list, err := many(ctx, s, scanSession(s.deadCache()), selectSession+` WHERE session.owner IS NOT NULL AND session.owner <> ?
		AND ifnull(owner.host, '') `+comparison+" ? ORDER BY changed DESC, id DESC", s.self.key, clusterHost+"*")
	return slices.DeleteFunc(list, func(h Session) bool { return h.Owner == 0 }), err
}

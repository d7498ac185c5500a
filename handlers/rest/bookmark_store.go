package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// maxMark is the length up to which a token is part of its name unhashed.
const maxMark = 64

// liveMark is the name of the bookmark of `live` without a token.
const liveMark = "live"

// markName returns the name of a bookmark, in memory and in the store.
func markName(token string) string {
	switch {
	case token == "":
		return liveMark
	case len(token) <= maxMark && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "live/" + token
	}
	sum := sha256.Sum256([]byte(token))
	return "live/#" + hex.EncodeToString(sum[:]) // longer than any unhashed token
}

// restore reads, once, the position that the session stored in a previous epoch; in a cluster, each time. It fails with a gap if the reader got
// here what is only in a branch.
func (m *bookmark) restore(ctx context.Context, s *copilot.Session, token string) error {
	if m.loaded && !s.MovesBetweenNodes() {
		return nil
	}
	n, err := s.ReaderPosition(ctx, markName(token), &m.unconfirmed)
	if err != nil {
		return fault.Errorf(fault.Unavailable, "the position of this reader could not be read: %w", err)
	}
	m.loaded = true
	if n == 0 || n <= m.at.N && m.at.Epoch == s.Record().Epoch() {
		return nil
	}
	m.begun = true               // for live: it has a position only after the first query
	m.past, m.restored = n, true // for a token: later events are new to it
	if _, gap := follow.From(s.Record(), m.at); gap != nil && gap.Stale {
		gap.First = max(gap.First, n+1) // it may have read on elsewhere
		return gap
	}
	m.at = s.Record().Position(n)
	return nil
}

// store makes the session remember the bookmark.
func (m *bookmark) store(s *copilot.Session, token string) {
	if m.at.N > 0 && (token != "" || m.begun) {
		s.SetReaderPosition(markName(token), m.at.N)
	}
}

package rest

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
)

// maxMark is how long a token may be that is part of a name as it is.
const maxMark = 64

// markName is under which name a session remembers a bookmark.
func markName(token string) string {
	switch {
	case token == "":
		return "live"
	case len(token) <= maxMark && !strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }):
		return "live/" + token
	}
	sum := sha256.Sum256([]byte(token))
	return "live/#" + hex.EncodeToString(sum[:]) // longer than any token that is not hashed
}

// restore looks up, once, what the session remembers from an earlier life of the
// portal.
func (m *bookmark) restore(ctx context.Context, s *copilot.Session, token string) error {
	if m.ready {
		return nil
	}
	marks, err := s.ReaderPositions(ctx)
	if err != nil {
		return fault.Errorf(fault.Unavailable, "how far this reader had come could not be read: %w", err)
	}
	m.ready = true
	n := marks[markName(token)]
	if n == 0 {
		return nil
	}
	m.at = s.Record().Position(n)
	m.begun = true               // of live: else there were no mark
	m.past, m.restored = n, true // of a token: what follows is new to it
	return nil
}

// store makes the session remember what was written to the reader.
func (m *bookmark) store(s *copilot.Session, token string) {
	if m.at.N > 0 && (token != "" || m.begun) {
		s.SetReaderPosition(markName(token), m.at.N)
	}
}

// forget lets a session forget a bookmark that was dropped.
func (a *API) forget(session, token string) {
	if s, ok := a.options.Host.Loaded(session); ok {
		s.SetReaderPosition(markName(token), 0)
	}
}

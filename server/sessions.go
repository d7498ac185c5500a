package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/store"
)

// Sessions gives access to the sessions of a data directory, whether or not a portal uses some of them. It is
// valid only within [WithSessions].
type Sessions struct {
	host  *copilot.Host
	empty bool // the data directory does not exist
}

// WithSessions calls do with the stored sessions. It does not create a missing data directory. Only
// [Sessions.Delete] starts an agent.
func WithSessions(ctx context.Context, c Config, log *slog.Logger, do func(*Sessions) error) error {
	if err := c.CheckDataDir(); err != nil {
		return err
	}
	var kept storage
	_, err := os.Stat(c.DataDir)
	empty := errors.Is(err, fs.ErrNotExist)
	if !empty {
		if kept.store, err = store.Open(ctx, store.Options{Directory: c.DataDir, Log: log}); err != nil {
			return fmt.Errorf("cannot read the sessions: %w", err)
		}
	}
	defer kept.close(log)
	return runOnce(ctx, c, kept, log, func(h *copilot.Host) error { return do(&Sessions{host: h, empty: empty}) })
}

// List returns at most limit sessions, most recently changed first, and whether there are more. 0 means no
// limit.
func (s *Sessions) List(ctx context.Context, limit int) (list []copilot.Info, more bool, err error) {
	err = s.each(ctx, func(i copilot.Info) bool {
		more = limit > 0 && len(list) == limit
		if !more {
			list = append(list, i)
		}
		return !more
	})
	return list, more, err
}

// each calls visit for each session until visit returns false.
func (s *Sessions) each(ctx context.Context, visit func(copilot.Info) bool) error {
	for after := ""; ; {
		page, next, err := s.host.Sessions(ctx, after, 0)
		if err != nil {
			return err
		}
		for _, i := range page {
			if !visit(i) {
				return nil
			}
		}
		if after = next; after == "" {
			return nil
		}
	}
}

// maxListed is the maximum number of ids that an error names.
const maxListed = 5

// Find returns the session with the id, or with the only id that has the given prefix.
func (s *Sessions) Find(ctx context.Context, beginning string) (*copilot.Session, error) {
	found, err := s.host.Session(ctx, beginning)
	if !errors.Is(err, fault.ErrSessionNotFound) {
		return found, err
	}
	var ids []string
	if err := s.each(ctx, func(i copilot.Info) bool {
		if beginning != "" && strings.HasPrefix(i.ID, beginning) {
			ids = append(ids, i.ID)
		}
		return len(ids) <= maxListed
	}); err != nil {
		return nil, err
	}
	id, err := onlyID(ids, "session", beginning, "portal sessions list")
	if err != nil {
		return nil, err
	}
	return s.host.Session(ctx, id)
}

// onlyID returns the only id of those that begin with beginning. The errors name what has the ids, and the command that lists them.
func onlyID(ids []string, what, beginning, command string) (string, error) {
	switch {
	case len(ids) == 1:
		return ids[0], nil
	case len(ids) == 0:
		return "", fault.Errorf(fault.NotFound, "no %s id begins with %q: see %s", what, beginning, command)
	case len(ids) > maxListed:
		ids = append(ids[:maxListed], "…")
	}
	return "", fault.Errorf(fault.Invalid, "several %s ids begin with %q: %s", what, beginning, strings.Join(ids, ", "))
}

// Search searches like [copilot.Host.Search].
func (s *Sessions) Search(ctx context.Context, words string) ([]copilot.Found, error) {
	if s.empty {
		return nil, nil
	}
	return s.host.Search(ctx, words, 0)
}

// Delete deletes a session. left is the reason why the agent still has its own copy of the session, or nil.
func (s *Sessions) Delete(ctx context.Context, id string) (left, err error) {
	if err = s.host.Delete(ctx, id); errors.Is(err, fault.ErrCopyLeft) {
		return err, nil
	}
	return nil, err
}

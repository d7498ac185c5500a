package copilot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// Session finds a session, in memory or in the store. Errors:
// [fault.ErrSessionNotFound], kind [fault.Unavailable] when the store cannot be read.
func (h *Host) Session(ctx context.Context, id string) (*Session, error) {
	h.mu.Lock()
	s := h.sessions[id]
	h.mu.Unlock()
	if s != nil && s.markUsed() {
		return s, nil
	}
	if h.options.Store == nil {
		return nil, fault.ErrSessionNotFound
	}
	if s == nil || !h.refreshSuspended(ctx, s) {
		var err error
		if s, err = h.load(ctx, id); err != nil {
			return nil, err
		}
	}
	if s.Info().Owner != 0 {
		h.remoteFollower.add(s)
	}
	return s, nil
}

// SessionByRun gives the session that is at work on a run, or where the run waits.
func (h *Host) SessionByRun(run string) (s *Session, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if s.hasRun(run) {
			return s, true
		}
	}
	return nil, false
}

func (s *Session) hasRun(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return id != "" && s.machine.Find(id) != nil
}

// Loaded gives a session that is in memory, without a look into the store.
func (h *Host) Loaded(id string) (s *Session, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok = h.sessions[id]
	return s, ok
}

// markUsed notes that somebody asks for a session, and says whether it is as it is
// in memory: one at rest may be another in the store by now.
func (s *Session) markUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUse = time.Now()
	return s.lease != leaseNone
}

// refreshSuspended brings a session at rest up to date; false if it is not there any more.
func (h *Host) refreshSuspended(ctx context.Context, s *Session) bool {
	s.refreshOwner(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[s.id] == s
}

// load reads a session from the store.
func (h *Host) load(ctx context.Context, id string) (*Session, error) {
	head, err := h.options.Store.Session(ctx, id)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, fault.ErrSessionNotFound
	case err != nil:
		return nil, fault.Errorf(fault.Unavailable, "the stored session could not be read: %w", err)
	}
	s, err := h.restore(head)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if other := h.sessions[id]; other != nil {
		return other, nil // somebody was faster
	}
	h.sessions[id] = s
	h.evictClosed()
	return s, nil
}

// forgetDeleted drops a session from memory.
func (h *Host) forgetDeleted(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] == s {
		h.evict(s)
	}
}

// evictAfter is how long a session stays in memory after somebody asked for it, so
// that it does not go while he has it in hand.
const evictAfter = 2 * time.Second

// isEvictable says whether a session can be dropped from memory, and when it was asked
// for last.
func (s *Session) isEvictable() (used time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host.options.Store == nil {
		return s.created, s.machine.State() != session.Active
	}
	inHand := time.Since(s.lastUse) < evictAfter
	return s.lastUse, s.lease != leaseHeld && !s.recorderNotified && !inHand && (s.lease == leaseNone || s.host.options.Store.Failing())
}

// maxPage is how many sessions a list has at most.
const maxPage = 1000

// Sessions lists sessions, those first in which something happened last. next
// continues the list behind this part of it, "" at its end; after is "" or such a
// next; limit is at most 1000, which 0 stands for, but open sessions are all in the
// first part. Of the origins without, only these are listed. Errors: kind [fault.Invalid] for an after that is none, kind [fault.Unavailable] when the
// store cannot be read; then those in memory are listed all the same.
func (h *Host) Sessions(ctx context.Context, after string, limit int, without ...string) (list []Info, next string, err error) {
	from, err := parseCursor(after)
	if err != nil {
		return nil, "", err
	}
	if limit <= 0 || limit > maxPage {
		limit = maxPage
	}
	here := h.unstoredInfos()
	if after == "" {
		list = listed(here, without)
	}
	if h.options.Store != nil {
		var heads []store.Session
		if heads, err = h.options.Store.List(ctx, from, limit, without...); err != nil {
			err = fault.Errorf(fault.Unavailable, "the stored sessions could not be read: %w", err)
		}
		if len(heads) == limit {
			next = formatCursor(heads[limit-1].Cursor())
		}
		for _, head := range heads {
			if _, known := here[head.ID]; !known {
				list = append(list, infoOf(head))
			}
		}
	}
	slices.SortFunc(list, func(a, b Info) int {
		return cmp.Or(b.Changed.Compare(a.Changed), b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return list, next, err
}

// listed are sessions without the closed ones of some origins.
func listed(sessions map[string]Info, without []string) (list []Info) {
	for _, i := range sessions {
		if i.State != StateClosed || !slices.Contains(without, i.Origin) {
			list = append(list, i)
		}
	}
	return list
}

// unstoredInfos are the sessions that memory knows better than the store.
func (h *Host) unstoredInfos() map[string]Info {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := map[string]Info{}
	for _, s := range h.sessions {
		if h.options.Store == nil || !s.isStored() {
			list[s.id] = s.Info()
		}
	}
	return list
}

// isStored says whether the store knows all of a session.
func (s *Session) isStored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease == leaseNone && !s.recorderNotified
}

// infoOf is a session that only the store knows.
func infoOf(head store.Session) Info {
	s := Session{id: head.ID, origin: head.Origin, directory: head.Directory, created: head.Created}
	_ = s.applyMeta(head) // what cannot be read of it stays out
	return s.Info()
}

func formatCursor(c store.Cursor) string {
	return strconv.FormatInt(c.Changed.UnixMilli(), 10) + "." + c.ID
}

func parseCursor(text string) (store.Cursor, error) {
	if text == "" {
		return store.Cursor{}, nil
	}
	at, id, ok := strings.Cut(text, ".")
	ms, err := strconv.ParseInt(at, 10, 64)
	if !ok || err != nil {
		return store.Cursor{}, fault.Errorf(fault.Invalid, "%q continues no list of sessions", text)
	}
	return store.Cursor{Changed: time.UnixMilli(ms), ID: id}, nil
}

// recordLoader reads what the record in memory has no more.
func (h *Host) recordLoader(id string) func(context.Context, uint64, int) ([]journal.Entry[event.Event], error) {
	var seen endCache
	return func(ctx context.Context, after uint64, limit int) ([]journal.Entry[event.Event], error) {
		ctx, cancel := context.WithTimeout(ctx, storeTimeout)
		defer cancel()
		entries, err := h.readStored(ctx, id, after, limit)
		if err == nil {
			err = h.markSuperseded(ctx, id, entries, &seen)
		}
		return entries, err
	}
}

// readStored reads events from the store. Events that it never got are a
// [journal.GapError].
func (h *Host) readStored(ctx context.Context, id string, after uint64, limit int) ([]journal.Entry[event.Event], error) {
	raw, err := h.options.Store.Read(ctx, id, after, limit)
	if err != nil {
		return nil, unreadable(err)
	}
	entries := make([]journal.Entry[event.Event], 0, len(raw))
	for _, r := range raw {
		e, err := unpack(r)
		switch {
		case err != nil && len(entries) > 0:
			return entries, nil // the next read meets it
		case err != nil:
			return nil, unreadable(err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// unreadable says for people that a stored record cannot be read. Holes in it are
// told as such.
func unreadable(err error) error {
	var gap *journal.GapError
	if errors.As(err, &gap) {
		return err
	}
	return fault.Errorf(fault.Unavailable, "the stored record could not be read: %w", err)
}

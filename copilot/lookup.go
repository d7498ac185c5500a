package copilot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// Session returns a session by its id, from memory or the store. Errors: [fault.ErrSessionNotFound], kind [fault.Unavailable]
// if the store cannot be read.
func (h *Host) Session(ctx context.Context, id string) (*Session, error) {
	if a, limited := AccessOf(ctx); limited && a.Session != id {
		return nil, fault.ErrSessionNotFound
	}
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
		if s, err = h.loadStored(ctx, id); err != nil {
			return nil, err
		}
	}
	if s.Info().Owner != 0 {
		h.remoteFollower.add(s)
	}
	return s, nil
}

// SessionByRun returns the session in memory whose current or queued run has the id.
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
	switch {
	case id == "":
		return false
	case s.machine.State() == session.Elsewhere:
		return s.settings.Run == id && s.settings.Outcome == "" || slices.ContainsFunc(s.queueAtRest(), func(r *session.Run) bool { return r.ID == id })
	}
	return s.machine.Find(id) != nil
}

// Loaded returns a session that is in memory. It does not read the store.
func (h *Host) Loaded(id string) (s *Session, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok = h.sessions[id]
	return s, ok
}

// markUsed records a use of the session, and reports whether memory is up to date: another process may have changed
// an inactive session.
func (s *Session) markUsed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastUse = time.Now()
	return s.lease != leaseNone
}

// refreshSuspended updates an inactive session from the store; false if it was evicted.
func (h *Host) refreshSuspended(ctx context.Context, s *Session) bool {
	s.refreshOwner(ctx, readTime)
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.sessions[s.id] == s
}

// loadStored loads a session from the store.
func (h *Host) loadStored(ctx context.Context, id string) (*Session, error) {
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
		return other, nil // it was loaded meanwhile
	}
	h.sessions[id] = s
	h.evictClosed()
	return s, nil
}

// forgetDeleted evicts a deleted session and notifies those who watch it.
func (h *Host) forgetDeleted(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for watcher := range h.watchers[s.id] {
		close(watcher)
	}
	delete(h.watchers, s.id)
	h.clientServers.forget(s.id)
	if h.sessions[s.id] == s {
		h.evict(s)
	}
}

// forget evicts a session that must be loaded again.
func (h *Host) forget(s *Session) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sessions[s.id] == s {
		h.evict(s)
	}
}

// WatchDeleted returns a channel that is closed when this host deletes a session. The caller must call forget, which closes nothing.
func (h *Host) WatchDeleted(id string) (deleted <-chan struct{}, forget func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	watcher := make(chan struct{})
	if h.watchers[id] == nil {
		h.watchers[id] = map[chan struct{}]struct{}{}
	}
	h.watchers[id][watcher] = struct{}{}
	return watcher, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.watchers[id], watcher)
		if len(h.watchers[id]) == 0 {
			delete(h.watchers, id)
		}
	}
}

// evictAfter is how long a session stays in memory after its last lookup, so that callers can use it.
const evictAfter = 2 * time.Second

// isEvictable reports whether the session may be evicted, and returns its last use.
func (s *Session) isEvictable() (used time.Time, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.host.options.Store == nil {
		return s.created, s.machine.State() != session.Active
	}
	inHand := time.Since(s.lastUse) < evictAfter
	return s.lastUse, s.lease != leaseHeld && !s.unstored.notified && !inHand && (s.lease == leaseNone || s.host.options.Store.Failing())
}

// maxPage is the maximum length of a list of sessions.
const maxPage = 1000

// Sessions lists sessions, most recently changed first, in pages. next continues the list after this page, "" at the end;
// after is "" or a previous next. limit is at most 1000, and 0 means 1000; the first page also has all active
// sessions. Closed sessions of the origins in without are omitted. Errors: kind [fault.Invalid] for an invalid after,
// kind [fault.Unavailable] if the store cannot be read, with the sessions in memory.
func (h *Host) Sessions(ctx context.Context, after string, limit int, without ...string) (list []Info, next string, err error) {
	from, err := parseCursor(after)
	if err != nil {
		return nil, "", err
	}
	if access, limited := AccessOf(ctx); limited {
		list, err = h.onlySession(ctx, access)
		return list, "", err
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
				list = append(list, h.infoOf(head))
			}
		}
	}
	slices.SortFunc(list, func(a, b Info) int {
		return cmp.Or(b.Changed.Compare(a.Changed), b.Created.Compare(a.Created), strings.Compare(a.ID, b.ID))
	})
	return list, next, err
}

// Pinned lists the stored sessions that are pinned, most recently changed first, at most limit. A change of a pin appears within a second; [Host.Sessions]
// has the newest sessions at once. Errors: kind [fault.Unavailable] if the store cannot be read.
func (h *Host) Pinned(ctx context.Context, limit int) ([]Info, error) {
	if _, limited := AccessOf(ctx); limited || h.options.Store == nil {
		return nil, nil
	}
	heads, err := h.options.Store.Pinned(ctx, limit)
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "the stored sessions could not be read: %w", err)
	}
	return convert(heads, h.infoOf), nil
}

// listed returns the sessions except the closed ones of some origins.
func listed(sessions map[string]Info, without []string) (list []Info) {
	for _, i := range sessions {
		if i.State != StateClosed || !slices.Contains(without, i.Origin) {
			list = append(list, i)
		}
	}
	return list
}

// unstoredInfos returns the sessions for which memory is more recent than the store.
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

// isStored reports whether the store is up to date.
func (s *Session) isStored() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lease == leaseNone && !s.unstored.notified
}

// infoOf describes a session from its stored head.
func (h *Host) infoOf(head store.Session) Info {
	s := Session{host: h, id: head.ID, origin: head.Origin, directory: head.Directory, created: head.Created}
	_ = s.applyHead(head) // unreadable fields stay empty
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
		return store.Cursor{}, fault.Errorf(fault.Invalid, "%q is not a position in the list of sessions", text)
	}
	return store.Cursor{Changed: time.UnixMilli(ms), ID: id}, nil
}

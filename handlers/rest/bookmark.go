package rest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
)

// bookmark is the position of a reader of live, which sends none
// (spec/contracts/portal-rest.md, "copilot/session/{session-id}/live"). The call that holds it owns its fields.
type bookmark struct {
	at       journal.Position // the last event written to the reader
	past     uint64           // the last number in the record when the reader came
	restored bool             // past is set
	begun    bool             // a query was seen
	ended    bool             // the end was reported
	loaded   bool             // the stored position was read
	texts    map[string]bool  // whether the deltas of a block in progress are sent
	fault    bool             // for a job: the last response reported the cause of the end
	answered time.Time        // when the reader got the last answer

	unconfirmed copilot.Unconfirmed // position that another node has announced

	held      chan struct{} // holds a token while a call holds the bookmark
	answering atomic.Bool   // that call writes its answer: what its client sends next is no parallel call
	used      time.Time     // guarded by bookmarks.mu
}

// bookmarks holds bookmarks by session, job or task, and token; the token "" stands for
// `live` without one. Its methods may be called concurrently.
type bookmarks struct {
	mu    sync.Mutex
	byKey map[bookmarkKey]*bookmark
	swept time.Time

	host *copilot.Host // of the sessions, which store positions; nil: positions are not stored
}

// bookmarkKey identifies a bookmark. It has the name of the token ([markName]), which is short.
type bookmarkKey struct{ session, name string }

// A bookmark unused for bookmarkAge is dropped; its reader then starts from the beginning. That of `live` without a token
// is only dropped with its session, from memory or for ever, and continues at the stored position.
const (
	bookmarkAge = time.Hour
	sweepEvery  = time.Minute
)

// maxBookmarks bounds the memory that made-up tokens can use. Beyond it, the
// bookmark unused for longest is dropped.
const maxBookmarks = 10_000

func newBookmarks(host *copilot.Host) bookmarks {
	return bookmarks{byKey: map[bookmarkKey]*bookmark{}, swept: time.Now(), host: host}
}

// acquireTimeout is how long a call waits for the one that holds the bookmark: the
// server may notice late that a client has disconnected.
const acquireTimeout = 200 * time.Millisecond

// acquire gives a bookmark to one call at a time; ok is false if another call holds
// it and does not answer yet, or for as long as a call may take. The caller must release it.
func (b *bookmarks) acquire(ctx context.Context, session, token string) (m *bookmark, release func(), ok bool) {
	m = b.find(bookmarkKey{session, markName(token)})
	ctx, cancel := context.WithTimeout(ctx, pollTime)
	defer cancel()
	for {
		isAnswering := m.answering.Load()
		if m.hold(ctx) {
			m.answering.Store(false)
			return m, func() { <-m.held }, true
		}
		if !isAnswering || ctx.Err() != nil {
			return nil, nil, false
		}
	}
}

// hold waits for a moment until no other call holds the bookmark.
func (m *bookmark) hold(ctx context.Context) bool {
	select {
	case m.held <- struct{}{}:
		return true
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, acquireTimeout)
	defer cancel()
	select {
	case m.held <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// find returns a bookmark and creates it if necessary.
func (b *bookmarks) find(p bookmarkKey) *bookmark {
	m, dropped := b.findOrCreate(p)
	for _, p := range dropped {
		b.forget(p)
	}
	return m
}

func (b *bookmarks) findOrCreate(p bookmarkKey) (m *bookmark, dropped []bookmarkKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped = b.sweep()
	m = b.byKey[p]
	if m == nil {
		dropped = append(dropped, b.evictOldest()...)
		m = &bookmark{held: make(chan struct{}, 1)}
		m.loaded = slices.Contains(dropped, p) // a dropped bookmark starts anew
		b.byKey[p] = m
	}
	m.used = time.Now()
	return m, dropped
}

// forget removes the stored position of a dropped bookmark.
func (b *bookmarks) forget(p bookmarkKey) {
	if b.host == nil {
		return
	}
	if s, ok := b.host.Loaded(p.session); ok {
		s.ForgetReaderPosition(context.Background(), p.name)
	}
}

func (b *bookmarks) isLoaded(session string) bool {
	_, ok := b.host.Loaded(session)
	return ok
}

// sweep drops unused bookmarks. The caller must hold the lock.
func (b *bookmarks) sweep() (dropped []bookmarkKey) {
	if time.Since(b.swept) < sweepEvery {
		return nil
	}
	b.swept = time.Now()
	for p, m := range b.byKey {
		switch {
		case time.Since(m.used) <= bookmarkAge:
		case b.isEvictable(p, m):
			delete(b.byKey, p)
			dropped = append(dropped, p)
		case len(m.held) == 0 && !b.isLoaded(p.session):
			delete(b.byKey, p)
		}
	}
	return dropped
}

// drop removes the bookmarks of a deleted session.
func (b *bookmarks) drop(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.byKey, func(p bookmarkKey, _ *bookmark) bool { return p.session == session })
}

// isEvictable reports whether a bookmark may be dropped. Excluded are those of `live`
// without a token on a session, whose reader must not start again, and those held by a call.
func (b *bookmarks) isEvictable(p bookmarkKey, m *bookmark) bool {
	return (p.name != liveMark || b.host == nil) && len(m.held) == 0
}

// evictOldest drops the bookmark unused for longest if there are too many. The
// caller must hold the lock.
func (b *bookmarks) evictOldest() (dropped []bookmarkKey) {
	if len(b.byKey) < maxBookmarks {
		return nil
	}
	var oldest bookmarkKey
	for p, m := range b.byKey {
		if o := b.byKey[oldest]; b.isEvictable(p, m) && (o == nil || m.used.Before(o.used)) {
			oldest = p
		}
	}
	if b.byKey[oldest] == nil { // the zero key has no bookmark
		return nil
	}
	delete(b.byKey, oldest)
	return []bookmarkKey{oldest}
}

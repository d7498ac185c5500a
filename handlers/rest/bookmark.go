package rest

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/journal"
)

// bookmark is the position of one reader of live, which has none itself
// (spec/contracts/portal-rest.md, "copilot/session/{session-id}/live"). Its fields belong to the call that holds it.
type bookmark struct {
	at       journal.Position // of the last event that was written to the reader
	past     uint64           // what stood in the record when the reader came
	restored bool             // past is set
	begun    bool             // the first query has been seen
	ended    bool             // the reader was told of the end
	ready    bool             // what the session remembers of it was looked up
	texts    map[string]bool  // of blocks that go on: whether their pieces are told
	fault    bool             // of a job: the last that was told is what went wrong

	held chan struct{} // holds a token while a call holds the bookmark
	used time.Time     // guarded by the lock of the bookmarks
}

// bookmarks are all positions, by session (or job, or task) and token; the token "" is
// `live` without one. They may be used concurrently.
type bookmarks struct {
	mu    sync.Mutex
	byKey map[bookmarkKey]*bookmark
	swept time.Time

	forget func(session, token string) // lets the session forget one that was dropped; nil: it is remembered nowhere else
}

type bookmarkKey struct{ session, token string }

// The bookmark of a token that nobody used for so long is dropped; its reader
// would start from the beginning.
const (
	bookmarkAge = time.Hour
	sweepEvery  = time.Minute
)

// maxBookmarks bounds the memory that made-up tokens can take. Beyond it the
// one that was not used for longest makes room.
const maxBookmarks = 10_000

func newBookmarks(forget func(session, token string)) bookmarks {
	return bookmarks{byKey: map[bookmarkKey]*bookmark{}, swept: time.Now(), forget: forget}
}

// departure is how long a new call waits for one that holds the bookmark: the
// server may learn a little later that a client has gone away.
const departure = 200 * time.Millisecond

// acquire gives a bookmark to one call at a time; ok is false if another one has
// it. The caller releases it.
func (b *bookmarks) acquire(ctx context.Context, session, token string) (m *bookmark, release func(), ok bool) {
	m = b.find(bookmarkKey{session, token})
	ctx, cancel := context.WithTimeout(ctx, departure)
	defer cancel()
	select {
	case m.held <- struct{}{}:
		return m, func() { <-m.held }, true
	case <-ctx.Done():
		return nil, nil, false
	}
}

// find gives a bookmark, and makes it if there is none.
func (b *bookmarks) find(p bookmarkKey) *bookmark {
	m, dropped := b.findOrMake(p)
	for _, p := range dropped {
		if b.forget != nil {
			b.forget(p.session, p.token)
		}
	}
	return m
}

func (b *bookmarks) findOrMake(p bookmarkKey) (m *bookmark, dropped []bookmarkKey) {
	b.mu.Lock()
	defer b.mu.Unlock()
	dropped = b.sweep()
	m = b.byKey[p]
	if m == nil {
		dropped = append(dropped, b.evictOldest()...)
		m = &bookmark{held: make(chan struct{}, 1)}
		m.ready = slices.Contains(dropped, p) // it begins anew, whatever is remembered
		b.byKey[p] = m
	}
	m.used = time.Now()
	return m, dropped
}

// sweep drops those that nobody uses. It is called with the lock held.
func (b *bookmarks) sweep() (dropped []bookmarkKey) {
	if time.Since(b.swept) < sweepEvery {
		return nil
	}
	b.swept = time.Now()
	for p, m := range b.byKey {
		if time.Since(m.used) > bookmarkAge && b.isEvictable(p, m) {
			delete(b.byKey, p)
			dropped = append(dropped, p)
		}
	}
	return dropped
}

// drop removes the bookmarks of a session that was deleted.
func (b *bookmarks) drop(session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.byKey, func(p bookmarkKey, _ *bookmark) bool { return p.session == session })
}

// isEvictable says whether a bookmark can be dropped: not that of `live`
// without a token of a session, whose reader must not start again, nor one that a call holds.
func (b *bookmarks) isEvictable(p bookmarkKey, m *bookmark) bool {
	return (p.token != "" || b.forget == nil) && len(m.held) == 0
}

// evictOldest drops the one that was not used for longest if there are too many. It
// is called with the lock held.
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
	if b.byKey[oldest] == nil { // the zero place is never there
		return nil
	}
	delete(b.byKey, oldest)
	return []bookmarkKey{oldest}
}

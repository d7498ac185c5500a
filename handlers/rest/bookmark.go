package rest

import (
	"context"
	"sync"
	"time"
)

// bookmark is the position of one reader whose cursor the contract leaves to
// the server. Its fields belong to the call that holds it.
type bookmark struct {
	after uint64 // number of the last event that was written to the reader
	past  uint64 // what stood in the record when the reader came
	known bool   // past is set
	begun bool   // the first query has been seen
	ended bool   // the reader was told of the end

	held chan struct{} // holds a token while a call holds the bookmark
	used time.Time     // guarded by the lock of the bookmarks
}

// bookmarks are all positions, by session and token; the token "" is the
// contract's own `live`. They may be used concurrently.
type bookmarks struct {
	mu    sync.Mutex
	known map[place]*bookmark
	swept time.Time
}

type place struct{ session, token string }

// The bookmark of a token that nobody used for so long is dropped; its reader
// would start from the beginning.
const (
	bookmarkAge = time.Hour
	sweepEvery  = time.Minute
)

// maxBookmarks bounds the memory that made-up tokens can take. Beyond it the
// one that was not used for longest makes room.
const maxBookmarks = 10_000

func newBookmarks() bookmarks {
	return bookmarks{known: map[place]*bookmark{}, swept: time.Now()}
}

// departure is how long a new call waits for one that holds the bookmark: the
// server may learn a little later that a client has gone away.
const departure = 200 * time.Millisecond

// hold gives a bookmark to one call at a time; ok is false if another one has
// it. The caller releases it.
func (b *bookmarks) hold(ctx context.Context, session, token string) (m *bookmark, release func(), ok bool) {
	m = b.find(place{session, token})
	ctx, cancel := context.WithTimeout(ctx, departure)
	defer cancel()
	select {
	case m.held <- struct{}{}:
		return m, func() { <-m.held }, true
	case <-ctx.Done():
		return nil, nil, false
	}
}

func (b *bookmarks) find(p place) *bookmark {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sweep()
	m := b.known[p]
	if m == nil {
		b.makeRoom()
		m = &bookmark{held: make(chan struct{}, 1)}
		b.known[p] = m
	}
	m.used = time.Now()
	return m
}

// sweep is called with the lock held.
func (b *bookmarks) sweep() {
	if time.Since(b.swept) < sweepEvery {
		return
	}
	b.swept = time.Now()
	for p, m := range b.known {
		if time.Since(m.used) > bookmarkAge && m.mayGo(p) {
			delete(b.known, p)
		}
	}
}

// mayGo says whether a bookmark can be dropped: not that of the contract's own
// `live`, whose reader must not start again, nor one that a call holds.
func (m *bookmark) mayGo(p place) bool { return p.token != "" && len(m.held) == 0 }

// makeRoom is called with the lock held.
func (b *bookmarks) makeRoom() {
	if len(b.known) < maxBookmarks {
		return
	}
	var oldest place
	for p, m := range b.known {
		if o := b.known[oldest]; m.mayGo(p) && (o == nil || m.used.Before(o.used)) {
			oldest = p
		}
	}
	delete(b.known, oldest) // the zero place is never there
}

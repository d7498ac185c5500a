package archive

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// loadTimeout limits a read that should take milliseconds; another program may have locked the file.
const loadTimeout = 10 * time.Second

// Loader returns a function that reads entries that were evicted from the record of a session in memory, as [journal.Options.Load]
// requires. It marks the deltas that a later entry supersedes.
func Loader(from *store.Store, session string) func(ctx context.Context, after uint64, limit int) ([]journal.Entry[event.Event], error) {
	l := loader{from: from, session: session}
	return l.load
}

type loader struct {
	from    *store.Store
	session string
	seen    endCache
}

func (l *loader) load(ctx context.Context, after uint64, limit int) ([]journal.Entry[event.Event], error) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	entries, err := Read(ctx, l.from, l.session, after, limit)
	if err == nil {
		err = l.markSuperseded(ctx, entries)
	}
	return entries, err
}

// markSuperseded marks the deltas among entries that a later entry supersedes.
func (l *loader) markSuperseded(ctx context.Context, entries []journal.Entry[event.Event]) error {
	open := unfinishedDeltas(entries)
	l.seen.apply(open, entries)
	if len(open) == 0 {
		return nil
	}
	found, err := l.findEnds(ctx, entries[len(entries)-1].N, open)
	if err != nil {
		return err
	}
	l.seen.store(found)
	l.seen.apply(open, entries)
	return nil
}

// How many entries are searched at once for the end of a text: few at first, because most texts end soon.
const (
	firstSearch = 64
	maxSearch   = 1000
)

// findEnds searches after a number for the ends of the texts that deltas belong to. It omits texts that may still end.
func (l *loader) findEnds(ctx context.Context, last uint64, pieces map[string][]int) (ended map[string]bool, err error) {
	ended = map[string]bool{}
	for limit := firstSearch; len(ended) < len(pieces); limit = min(2*limit, maxSearch) {
		more, seen, err := read(ctx, l.from, l.session, last, limit, event.IsDelta)
		var gap *journal.GapError
		if errors.As(err, &gap) || err == nil && seen == last {
			return ended, nil // the others have not ended so far
		}
		if err != nil {
			return nil, err
		}
		last = seen
		for _, e := range more {
			if key, end := event.Group(e.Value); end && pieces[key] != nil {
				ended[key] = true
			}
			if _, over := e.Value.Body.(event.RunEnded); over { // then texts without an end never get one
				for key := range pieces {
					if !ended[key] {
						ended[key] = false
					}
				}
				return ended, nil
			}
		}
	}
	return ended, nil
}

// unfinishedDeltas returns the indices of the deltas that no later entry supersedes, by group.
func unfinishedDeltas(entries []journal.Entry[event.Event]) map[string][]int {
	open := map[string][]int{}
	for i, e := range entries {
		key, end := event.Group(e.Value)
		switch _, over := e.Value.Body.(event.RunEnded); {
		case end:
			delete(open, key)
		case over:
			clear(open)
		case key != "":
			open[key] = append(open[key], i)
		}
	}
	return open
}

// endCache caches the result of the last search after a page of a stored record: the reader of the next page searches for the same,
// and a text may be as long as the record.
type endCache struct {
	mu    sync.Mutex
	ended map[string]bool // whether the text of a group of deltas has ended, by the group's key
}

// apply marks the deltas whose texts are in the cache, and removes them from open.
func (o *endCache) apply(open map[string][]int, entries []journal.Entry[event.Event]) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, places := range open {
		ended, known := o.ended[key]
		if !known {
			continue
		}
		for _, i := range places {
			entries[i].Superseded = ended
		}
		delete(open, key)
	}
}

// store replaces the cached result.
func (o *endCache) store(ended map[string]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = ended
}

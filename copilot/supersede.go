package copilot

import (
	"bytes"
	"context"
	"errors"
	"sync"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
)

// ahead is the number of entries first searched for the end of a text, because most texts end soon.
const ahead = 64

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

// markSuperseded marks the deltas among entries that a later entry supersedes.
func (h *Host) markSuperseded(ctx context.Context, id string, entries []journal.Entry[event.Event], seen *endCache) error {
	open := unfinishedDeltas(entries)
	seen.apply(open, entries)
	if len(open) == 0 {
		return nil
	}
	found, err := h.findEnds(ctx, id, entries[len(entries)-1].N, open)
	if err != nil {
		return err
	}
	seen.store(found)
	seen.apply(open, entries)
	return nil
}

// findEnds searches after a number for the ends of the texts that deltas belong to. It omits texts that may still end.
func (h *Host) findEnds(ctx context.Context, id string, last uint64, pieces map[string][]int) (ended map[string]bool, err error) {
	ended = map[string]bool{}
	for limit := ahead; len(ended) < len(pieces); limit = min(2*limit, maxPage) {
		more, seen, err := h.readWithoutDeltas(ctx, id, last, limit)
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
			if _, over := e.Value.Body.(event.RunEnded); over {
				return dropWithoutEnd(ended, pieces), nil
			}
		}
	}
	return ended, nil
}

// dropWithoutEnd records that texts without an end will never have one, because their run has ended.
func dropWithoutEnd(ended map[string]bool, pieces map[string][]int) map[string]bool {
	for key := range pieces {
		if !ended[key] {
			ended[key] = false
		}
	}
	return ended
}

// readWithoutDeltas reads events except deltas from the store, and returns the number of the last entry read.
func (h *Host) readWithoutDeltas(ctx context.Context, id string, after uint64, limit int) (entries []journal.Entry[event.Event], last uint64, err error) {
	raw, err := h.options.Store.Read(ctx, id, after, limit)
	if err != nil {
		return nil, after, unreadable(err)
	}
	last = after
	for _, r := range raw {
		if !isDelta(r.Data) {
			e, err := unpack(r)
			switch {
			case err != nil && last > after:
				return entries, last, nil // the next read reports it
			case err != nil:
				return nil, after, unreadable(err)
			}
			entries = append(entries, e)
		}
		last = r.Number
	}
	return entries, last, nil
}

// isDelta reports whether an encoded event is a delta. It reads only the start, because decoding all deltas would dominate the cost.
func isDelta(line []byte) bool {
	tag, ok := bytes.CutPrefix(line, []byte(`{"v":1,"type":"`))
	if !ok {
		return false
	}
	tag, _, _ = bytes.Cut(tag, []byte{'"'})
	switch string(tag) {
	case "message.delta", "reasoning.delta", "tool.output":
		return true
	}
	return false
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

package activity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
	"github.com/copilot-portal/portal/copilot/store"
)

// Options are the options of a [Log].
type Options struct {
	Store     *store.Store   // nil keeps activities in memory only
	Retention time.Duration  // how long an activity is kept after its end; 0 means until it is deleted
	Processes *ipc.Processes // calls the other processes on the store; nil: an activity is cancelled only by its owner
	Log       *slog.Logger   // nil disables logging
}

// Log contains all activities of one kind. It is safe for concurrent use. The caller must close it.
type Log[H, E any] struct {
	kind    Kind[H, E]
	options Options
	store   backend
	quit    context.CancelFunc
	tidying sync.WaitGroup // the goroutine that removes expired activities
	work    sync.WaitGroup

	mu      sync.Mutex
	records map[string]*Record[H, E]  // those that this process writes, and those of them that are not yet stored
	left    map[string]store.Activity // adopted, but not yet finalized
	closed  bool
}

// New creates a log. With a retention, it removes expired activities and finalizes abandoned ones until it is
// closed.
func New[H, E any](k Kind[H, E], o Options) *Log[H, E] {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := &Log[H, E]{kind: k, options: o, store: &memory{}, records: map[string]*Record[H, E]{}, left: map[string]store.Activity{}}
	if o.Store != nil {
		l.store = o.Store
	}
	if o.Processes != nil {
		o.Processes.Handle("POST "+l.cancelPath("{id}"), l.cancelForOther)
	}
	var ctx context.Context
	ctx, l.quit = context.WithCancel(context.Background()) //nolint:gosec // Stop calls it
	if o.Retention > 0 {
		l.tidying.Go(func() { l.tidy(ctx) })
	}
	return l
}

// Begin stores a new activity, which this process owns. lead contains the lines that its kind has before the
// first entry. [Log.Go] or [Log.Add] makes the activity visible. It fails with [store.ErrExists] if an activity has the id: of several
// processes that begin the same work, one succeeds.
func (l *Log[H, E]) Begin(h H, lead ...[]byte) (*Record[H, E], error) {
	if err := l.create(h, lead); err != nil {
		return nil, err
	}
	return newRecord(l, h), nil
}

// Add makes a record visible that the work of another record writes.
func (l *Log[H, E]) Add(r *Record[H, E]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records[r.id] = r
}

// Get returns an activity of any process. The error may be the kind's NotFound.
func (l *Log[H, E]) Get(ctx context.Context, id string) (*Record[H, E], error) {
	l.mu.Lock()
	r := l.records[id]
	l.mu.Unlock()
	var h H
	if r != nil {
		h = r.Head()
	} else {
		var err error
		if h, err = l.Head(ctx, id); err != nil {
			return nil, err
		}
		r = &Record[H, E]{log: l, id: id, head: h}
	}
	if l.isOver(h) {
		return nil, l.kind.NotFound
	}
	return r, nil
}

// Local returns the heads of the activities that this process writes.
func (l *Log[H, E]) Local() (list []H) {
	for _, r := range l.local() {
		list = append(list, r.Head())
	}
	return list
}

// Owns reports whether this process writes an activity, or has written it.
func (l *Log[H, E]) Owns(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.records[id] != nil
}

// isOwned reports whether a living process works on an activity.
func (l *Log[H, E]) isOwned(ctx context.Context, id string) bool {
	a, err := l.store.Activity(ctx, l.kind.Name, id)
	return err == nil && !a.Done && a.Owner != 0
}

// searched is the maximum number of activities, the newest, in which RunsElsewhere searches.
const searched = 1000

// RunsElsewhere reports whether another living process works on an activity with the given property. It may miss
// one that begins during the call.
func (l *Log[H, E]) RunsElsewhere(ctx context.Context, has func(H) bool) (bool, error) {
	heads, err := l.Heads(ctx, searched)
	return slices.ContainsFunc(heads, func(h H) bool {
		id := *l.kind.ID(&h)
		return has(h) && !l.hasEnded(h) && !l.Owns(id) && l.isOwned(ctx, id)
	}), err
}

// Heads returns at most limit heads, newest first.
func (l *Log[H, E]) Heads(ctx context.Context, limit int) ([]H, error) {
	heads := map[string]H{}
	for _, r := range l.local() { // before the store, because records move from memory to the store
		heads[r.id] = r.Head()
	}
	stored, err := l.store.Activities(ctx, l.kind.Name, limit)
	if err != nil {
		return nil, l.unavailable(err)
	}
	for _, a := range stored {
		if _, ok := heads[a.ID]; ok || l.isDeleted(a) {
			continue
		}
		if h, err := l.decodeHead(ctx, a); err == nil {
			heads[a.ID] = h
		}
	}
	maps.DeleteFunc(heads, func(_ string, h H) bool { return l.isOver(h) })
	list := slices.Collect(maps.Values(heads))
	slices.SortFunc(list, func(a, b H) int {
		return cmp.Or(l.kind.Created(b).Compare(l.kind.Created(a)), cmp.Compare(*l.kind.ID(&a), *l.kind.ID(&b)))
	})
	return list[:min(limit, len(list))], nil
}

// Head returns the head of an activity of any process from the store.
func (l *Log[H, E]) Head(ctx context.Context, id string) (h H, err error) {
	a, err := l.find(ctx, id)
	if err != nil {
		return h, err
	}
	return l.decodeHead(ctx, a)
}

// find reads an activity from the store.
func (l *Log[H, E]) find(ctx context.Context, id string) (store.Activity, error) {
	a, err := l.store.Activity(ctx, l.kind.Name, id)
	switch {
	case errors.Is(err, store.ErrNotFound), err == nil && l.isDeleted(a):
		return a, l.kind.NotFound
	case err != nil:
		return a, l.unavailable(err)
	}
	return a, nil
}

// decodeHead decodes the stored head and applies the entries that follow it.
func (l *Log[H, E]) decodeHead(ctx context.Context, a store.Activity) (h H, err error) {
	if err := json.Unmarshal(a.Head, &h); err != nil {
		return h, fault.Errorf(fault.Internal, "the stored %s is not readable: %w", l.kind.Name, decodeError{err})
	}
	*l.kind.ID(&h) = a.ID
	for l.kind.Apply != nil && !a.Done && l.kind.Count(h)+l.kind.Lead < a.Last {
		entries, err := l.Entries(ctx, a.ID, l.kind.Count(h), 0)
		if err != nil {
			return h, err
		}
		if len(entries) == 0 {
			break
		}
		for _, e := range entries {
			h = l.kind.Apply(h, e)
		}
	}
	return h, nil
}

// decodeError is an error in stored data. Retrying does not help.
type decodeError struct{ error }

// farthest is the largest number used in queries.
const farthest = 1 << 62

// Entries returns stored entries after a number, at most limit if limit is positive.
func (l *Log[H, E]) Entries(ctx context.Context, id string, after uint64, limit int) ([]E, error) {
	after = min(after, farthest)
	lines, err := l.Lines(ctx, id, after+l.kind.Lead, limit)
	if err != nil {
		return nil, err
	}
	entries := make([]E, len(lines))
	for i, line := range lines {
		if entries[i], err = l.kind.Decode(after+uint64(i)+1, line); err != nil {
			return nil, fault.Errorf(fault.Internal, "a stored %s is not readable: %w", l.kind.Entry, decodeError{err})
		}
	}
	return entries, nil
}

// Lines returns stored lines after a number, including the lead, at most limit if limit is positive.
func (l *Log[H, E]) Lines(ctx context.Context, id string, after uint64, limit int) ([][]byte, error) {
	lines, err := l.store.Lines(ctx, l.kind.Name, id, after, limit)
	if err != nil {
		return nil, l.unavailable(err)
	}
	return lines, nil
}

func (l *Log[H, E]) unavailable(err error) error {
	return fault.Errorf(fault.Unavailable, "cannot read the %s: %w", l.kind.Name, err)
}

// isOver reports whether the retention of an activity has passed.
func (l *Log[H, E]) isOver(h H) bool {
	ended := l.kind.Ended(h)
	return l.options.Retention > 0 && !ended.IsZero() && time.Since(ended) >= l.options.Retention
}

// isDeleted reports whether an activity was deleted: without a retention, nothing else makes it done.
func (l *Log[H, E]) isDeleted(a store.Activity) bool { return l.options.Retention <= 0 && a.Done }

// local returns the records in memory.
func (l *Log[H, E]) local() []*Record[H, E] {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.records))
}

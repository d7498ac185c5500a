package operation

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host  // required; to be closed after the operations
	Store     *store.Store   // has each message before readers see it; nil: operations live as long as the host
	Policy    copilot.Policy // the permissions of the agent in operations
	Directory string         // of operations that name none; an absolute path
	Retention time.Duration  // how long an operation is known after its end; 10 minutes
	Log       *slog.Logger   // nil: none
}

func (o Options) withDefaults() Options {
	if o.Retention <= 0 {
		o.Retention = 10 * time.Minute
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Host knows all operations. Its methods may be called concurrently. Close ends it.
type Host struct {
	options Options
	tidying sync.WaitGroup // the goroutine that forgets what is old
	quit    context.CancelFunc
	commits sync.Mutex     // one commit at a time: git locks its index
	work    sync.WaitGroup // operations

	mu         sync.Mutex
	operations map[string]*Operation // that this process has done; those that were kept long enough are gone
	claims     map[claim]bool
	left       map[string]store.Activity // taken from portals that are gone, and not ended yet
	took       map[Type][]time.Duration  // how long the last ones took
	closed     bool
}

// New makes a host without operations; nothing is started but its clock.
func New(o Options) *Host {
	ctx, quit := context.WithCancel(context.Background())
	h := &Host{
		options: o.withDefaults(), quit: quit,
		operations: map[string]*Operation{}, claims: map[claim]bool{}, left: map[string]store.Activity{}, took: map[Type][]time.Duration{}, //nolint:exhaustive // none has ended yet
	}
	h.tidying.Go(func() { h.tidy(ctx) })
	return h
}

// Get finds an operation, also one that another process has. Error:
// [copilot.NotFound].
func (h *Host) Get(ctx context.Context, id string) (*Operation, error) {
	h.mu.Lock()
	o := h.operations[id]
	h.mu.Unlock()
	if o == nil {
		return h.find(ctx, id)
	}
	if h.isOver(o.Info()) {
		return nil, notFound()
	}
	return o, nil
}

func notFound() error {
	return copilot.Errorf(copilot.NotFound, "no such operation: it never was, or has ended too long ago")
}

// find looks an operation up in the store.
func (h *Host) find(ctx context.Context, id string) (*Operation, error) {
	if h.options.Store == nil {
		return nil, notFound()
	}
	a, err := h.options.Store.Activity(ctx, kind, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, notFound()
	}
	if err != nil {
		return nil, unavailable(err)
	}
	info, err := infoOf(a)
	switch {
	case err != nil:
		return nil, copilot.Errorf(copilot.Internal, "the operation is stored in a way that cannot be read: %w", err)
	case h.isOver(info):
		return nil, notFound()
	}
	return &Operation{host: h, id: id, info: info}, nil
}

// isOver says whether an operation has been kept long enough.
func (h *Host) isOver(i Info) bool {
	return i.Status.Ended() && time.Since(i.Ended) >= h.options.Retention
}

// most is how many operations are listed at most.
const most = 1000

// List gives the newest operations first, at most limit, if that is above 0.
func (h *Host) List(ctx context.Context, limit int) ([]Info, error) {
	if limit <= 0 || limit > most {
		limit = most
	}
	list, err := h.listStored(ctx, limit)
	if err != nil {
		return nil, err
	}
	for _, o := range h.here() {
		info := o.Info()
		list = slices.DeleteFunc(list, func(i Info) bool { return i.ID == info.ID })
		list = append(list, info)
	}
	list = slices.DeleteFunc(list, h.isOver)
	slices.SortStableFunc(list, func(a, b Info) int { return cmp.Or(b.Created.Compare(a.Created), cmp.Compare(a.ID, b.ID)) })
	return list[:min(limit, len(list))], nil
}

func (h *Host) listStored(ctx context.Context, limit int) ([]Info, error) {
	if h.options.Store == nil {
		return []Info{}, nil
	}
	all, err := h.options.Store.Activities(ctx, kind, limit)
	if err != nil {
		return nil, unavailable(err)
	}
	list := make([]Info, 0, len(all))
	for _, a := range all {
		if info, err := infoOf(a); err == nil {
			list = append(list, info)
		}
	}
	return list, nil
}

// here are the operations that this process has done.
func (h *Host) here() []*Operation {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := make([]*Operation, 0, len(h.operations))
	for _, o := range h.operations {
		list = append(list, o)
	}
	return list
}

// samples is of how many operations the mean is taken.
const samples = 10

// Estimate says how long an operation may take: the mean of the last ones of this
// type, else a guess.
func (h *Host) Estimate(t Type) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	took := h.took[t]
	if len(took) == 0 {
		return time.Minute
	}
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return sum / time.Duration(len(took))
}

// ends takes note of the end of an operation, before anybody is told of it: who is may
// start the next.
func (h *Host) ends(i Info, how Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.claims, claimOf(i.Feature, i.Type))
	if how == Completed {
		took := append(h.took[i.Type], time.Since(i.Created))
		h.took[i.Type] = took[max(0, len(took)-samples):]
	}
}

// tidy forgets what was kept long enough, and ends what processes have left that are
// gone, until ctx ends.
func (h *Host) tidy(ctx context.Context) {
	every := time.NewTicker(max(time.Second, min(time.Minute, h.options.Retention/4)))
	defer every.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		if err := h.clear(ctx); err != nil && ctx.Err() == nil {
			h.options.Log.Warn("the stored operations cannot be tidied up", "error", err)
		}
	}
}

func (h *Host) clear(ctx context.Context) error {
	var all error
	for _, o := range h.here() {
		all = errors.Join(all, o.settle(ctx))
		if h.isOver(o.Info()) {
			h.mu.Lock()
			delete(h.operations, o.id)
			h.mu.Unlock()
		}
	}
	if h.options.Store == nil {
		return all
	}
	_, err := h.options.Store.DropDone(ctx, kind, time.Now().Add(-h.options.Retention))
	return errors.Join(all, err, h.Recover(ctx))
}

// Close ends what runs, as Interrupted, and waits for it. No operation can be
// started any more. ctx bounds how long that may take gently.
func (h *Host) Close(ctx context.Context) {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	for _, o := range h.here() {
		o.stop(errStopping)
	}
	h.quit()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.work.Wait()
		h.tidying.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

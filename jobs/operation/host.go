package operation

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/store"
)

// Options are the settings of a [Host]. Zero fields have the defaults named.
type Options struct {
	Sessions  *copilot.Host     // required; close it after the Host
	Store     *store.Store      // stores each message before readers see it; nil keeps operations in memory only
	Policy    permission.Policy // of the agent in operations
	Directory string            // of operations that name none; an absolute path
	Retention time.Duration     // how long an operation is kept after its end; default 10 minutes
	Log       *slog.Logger      // nil disables logging
}

func (o Options) withDefaults() Options {
	if o.Retention <= 0 {
		o.Retention = 10 * time.Minute
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

type (
	log    = activity.Log[Info, Message]
	record = activity.Record[Info, Message] // entry numbers are the sequences of messages plus 1
)

// Host gives access to all operations. It is safe for concurrent use. The caller must close it.
type Host struct {
	options Options
	log     *log
	commits sync.Mutex // serializes commits, because git locks its index

	claims sync.Map // of the running operations, by claim

	mu        sync.Mutex
	durations map[Type][]time.Duration // of the latest operations
}

// New creates a host. It starts no operation and no agent.
func New(o Options) *Host {
	h := &Host{options: o.withDefaults(), durations: map[Type][]time.Duration{}} //nolint:exhaustive // filled as operations end
	h.log = activity.New(h.kind(), activity.Options{Store: h.options.Store, Processes: h.options.Sessions.Processes(), Retention: h.options.Retention, Log: h.options.Log})
	return h
}

// Get returns an operation of any process. Error: [fault.NotFound].
func (h *Host) Get(ctx context.Context, id string) (*Operation, error) {
	r, err := h.log.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Operation{h, r}, nil
}

// maxListed is the maximum number of listed operations.
const maxListed = 1000

// List returns the newest operations first, at most limit if limit is positive.
func (h *Host) List(ctx context.Context, limit int) ([]Info, error) {
	if limit <= 0 || limit > maxListed {
		limit = maxListed
	}
	list, err := h.log.Heads(ctx, limit)
	for n := range list {
		list[n] = h.current(list[n])
	}
	return list, err
}

// Recover finalizes operations of processes that are gone: with an error, complete, and the status
// Interrupted. It may be called at any time.
func (h *Host) Recover(ctx context.Context) error { return h.log.Recover(ctx) }

// samples is the number of durations that Estimate averages.
const samples = 10

// Estimate returns the expected duration of an operation: the mean of the latest ones of its type, else a
// default.
func (h *Host) Estimate(t Type) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	took := h.durations[t]
	if len(took) == 0 {
		return time.Minute
	}
	var sum time.Duration
	for _, d := range took {
		sum += d
	}
	return sum / time.Duration(len(took))
}

// recordEnd records the end of an operation before readers can see it. A client that sees the end may start the
// next operation at once.
func (h *Host) recordEnd(i Info, how Status) {
	h.claims.Delete(claim{i.Feature, i.Type})
	h.mu.Lock()
	defer h.mu.Unlock()
	if how == Completed {
		took := append(h.durations[i.Type], time.Since(i.Created))
		h.durations[i.Type] = took[max(0, len(took)-samples):]
	}
}

// Close ends running operations, as Interrupted, and waits for them. They may end gracefully until ctx is
// done. Afterwards, no operation can be started.
func (h *Host) Close(ctx context.Context) { h.log.Close(ctx) }

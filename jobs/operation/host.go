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

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host     // required; to be closed after the operations
	Store     *store.Store      // has each message before readers see it; nil: operations live as long as the host
	Policy    permission.Policy // the permissions of the agent in operations
	Directory string            // of operations that name none; an absolute path
	Retention time.Duration     // how long an operation is known after its end; 10 minutes
	Log       *slog.Logger      // nil: none
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
	record = activity.Record[Info, Message] // the numbers of its entries are the sequences of messages, plus 1
)

// Host knows all operations. Its methods may be called concurrently. Close ends it.
type Host struct {
	options Options
	log     *log
	commits sync.Mutex // one commit at a time: git locks its index

	mu        sync.Mutex
	claims    map[claim]bool
	durations map[Type][]time.Duration // how long the last ones took
}

// New makes a host without operations; nothing is started but its clock.
func New(o Options) *Host {
	h := &Host{options: o.withDefaults(), claims: map[claim]bool{}, durations: map[Type][]time.Duration{}} //nolint:exhaustive // none has ended yet
	h.log = activity.New(h.kind(), activity.Options{Store: h.options.Store, Retention: h.options.Retention, Log: h.options.Log})
	return h
}

// Get finds an operation, also one that another process has. Error:
// [fault.NotFound].
func (h *Host) Get(ctx context.Context, id string) (*Operation, error) {
	r, err := h.log.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return &Operation{h, r}, nil
}

// most is how many operations are listed at most.
const most = 1000

// List gives the newest operations first, at most limit, if that is above 0.
func (h *Host) List(ctx context.Context, limit int) ([]Info, error) {
	if limit <= 0 || limit > most {
		limit = most
	}
	list, err := h.log.Heads(ctx, limit)
	for n := range list {
		list[n] = h.current(list[n])
	}
	return list, err
}

// Recover ends what a portal that was killed has left: with an error, complete and
// the status Interrupted. It may be called again at any time.
func (h *Host) Recover(ctx context.Context) error { return h.log.Recover(ctx) }

// samples is of how many operations the mean is taken.
const samples = 10

// Estimate says how long an operation may take: the mean of the last ones of this
// type, else a guess.
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

// noteEnd takes note of the end of an operation, before anybody is told of it: who is may
// start the next.
func (h *Host) noteEnd(i Info, how Status) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.claims, claimOf(i.Feature, i.Type))
	if how == Completed {
		took := append(h.durations[i.Type], time.Since(i.Created))
		h.durations[i.Type] = took[max(0, len(took)-samples):]
	}
}

// Close ends what runs, as Interrupted, and waits for it. No operation can be
// started any more. ctx bounds how long that may take gently.
func (h *Host) Close(ctx context.Context) { h.log.Close(ctx) }

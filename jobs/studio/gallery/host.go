// Package gallery stores the interfaces that the studio generated, each with its description and all versions. It changes them on
// request and makes the calls that the user allowed them (spec/studio.md).
package gallery

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/code"
	"github.com/copilot-portal/portal/jobs/studio/spec"
)

// Options configure a [Host]. Zero fields take the defaults named.
type Options struct {
	Studio *studio.Host // required
	Store  *store.Store // nil: interfaces end with the host
	// Port returns the portal's own port, which no interface may call; nil if it has none.
	Port func() int
	Log  *slog.Logger // nil disables logging
}

// Limits. [spec.Read] and [code.Check] limit the description and the code.
const (
	maxPrompt   = 20_000 // bytes of a prompt
	maxVersions = 500
	maxEvents   = 4 << 20 // bytes of events kept for readers
	storeWait   = 10 * time.Second
)

// Host manages all interfaces. Its methods may be called concurrently. The caller must close it.
type Host struct {
	options Options
	log     *activity.Log[Item, []byte]
	ctx     context.Context //nolint:containedctx // of the requests, which continue after the calls that start them; cancelled by Close
	quit    context.CancelFunc
	work    sync.WaitGroup // requests

	mu          sync.Mutex
	activeItems map[string]*activeItem
}

// activeItem is the state of an interface that is kept in memory only.
type activeItem struct {
	events  *journal.Journal[Event]
	cancel  context.CancelFunc // of the request
	work    *Work              // nil without a request
	writing sync.Mutex         // held while the stored interface changes

	revision int // the newest that is known, -1 if none; belongs to the holder of writing
}

// New returns a host.
func New(o Options) *Host {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	ctx, quit := context.WithCancel(context.Background())
	return &Host{
		options: o, log: activity.New(kind(), activity.Options{Store: o.Store, Log: o.Log}),
		ctx: ctx, quit: quit, activeItems: map[string]*activeItem{},
	}
}

// Close cancels all requests and waits for them until ctx is done.
func (h *Host) Close(ctx context.Context) {
	h.mu.Lock() // so that no request begins after this
	h.quit()
	h.mu.Unlock()
	done := make(chan struct{})
	go func() {
		defer close(done)
		h.work.Wait()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// existing returns an interface and its state. Error: kind [fault.NotFound]. It creates the state before it reads the interface, and
// [Host.Delete] removes them in the other order, so no state outlives its interface.
func (h *Host) existing(ctx context.Context, id string) (*activeItem, Item, error) {
	h.mu.Lock()
	r := h.activeItems[id]
	if r == nil {
		r = &activeItem{revision: -1, events: journal.New(journal.Options[Event]{Budget: maxEvents, Cost: func(e Event) int { return 64 + len(e.Text) }})}
		h.activeItems[id] = r
	}
	h.mu.Unlock()
	i, err := h.log.Head(ctx, id)
	if errors.Is(err, errNotFound) { // another process may have deleted it
		h.forget(id)
	}
	return r, i, err
}

// forget removes the state of an interface that does not exist, and publishes that, unless it has happened.
func (h *Host) forget(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r := h.activeItems[id]
	if r == nil {
		return
	}
	r.publish(Deleted, "")
	if r.work != nil { // it began in the meantime
		r.cancel()
	}
	r.events.Close()
	delete(h.activeItems, id)
}

func (r *activeItem) publish(k Kind, text string) {
	_, _ = r.events.Append(Event{Time: time.Now().UTC(), Kind: k, Text: text}) // fails only after deletion
}

// notice publishes a change by another process.
func (r *activeItem) notice(i Item) {
	r.writing.Lock()
	defer r.writing.Unlock()
	if r.revision >= 0 && i.Revision > r.revision {
		r.publish(Changed, "")
	}
	r.revision = max(r.revision, i.Revision)
}

// progress has the current requests and the newest events of interfaces in use, by id. It is read before the items: a request that has
// ended by then has stored its result.
func (h *Host) progress() progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	p := make(progress, len(h.activeItems))
	for id, r := range h.activeItems {
		p[id] = itemProgress{r.work, r.events.Last()}
	}
	return p
}

type (
	progress     map[string]itemProgress
	itemProgress struct {
		work   *Work
		events uint64
	}
)

func (p progress) addTo(i Item) Item {
	if one, ok := p[i.ID]; ok {
		i.Work, i.Events = one.work, one.events
	}
	return i
}

// CreateRequest describes an interface to create.
type CreateRequest struct {
	Name string // of the file of the description, or ""
	Text string // of the description
	Key  string // random text of the caller for this request, or ""
}

// Create creates an interface. It exists at once; its first version follows. If an interface was created with the key, Create returns
// that one: a caller repeats a request that may have been lost. Errors: kind [fault.Invalid] for an invalid description, with its faults.
func (h *Host) Create(ctx context.Context, r CreateRequest) (Item, error) {
	s, err := spec.Read(r.Name, []byte(r.Text))
	if err != nil {
		return Item{}, fault.Errorf(fault.Invalid, "this is not a valid description of an API: %w", err)
	}
	description, err := json.Marshal(s)
	if err != nil {
		return Item{}, err
	}
	i := Item{ID: activity.NewID("create", r.Key), Title: cmp.Or(plain.Cut(s.Metadata.Title, 200), "An API"), Format: s.Format, Created: now()}
	for range s.Operations() {
		i.Endpoints++
	}
	if base, err := parseBase(s.Metadata.BaseURL); err == nil {
		i.BaseURL = base.String()
	}
	_, err = h.log.Begin(i, description)
	switch {
	case errors.Is(err, store.ErrExists):
		return h.Get(ctx, i.ID)
	case err != nil:
		return Item{}, err
	}
	if err := h.Make(ctx, i.ID); err != nil {
		return Item{}, err
	}
	return h.progress().addTo(i), nil
}

// now returns the time with the stored precision.
func now() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }

// List returns at most 1000 interfaces, newest first.
func (h *Host) List(ctx context.Context) ([]Item, error) {
	current := h.progress()
	list, err := h.log.Heads(ctx, maxItems)
	for n := range list {
		list[n] = current.addTo(list[n])
	}
	return list, err
}

// Get returns an interface. Error: kind [fault.NotFound].
func (h *Host) Get(ctx context.Context, id string) (Item, error) {
	current := h.progress()
	i, err := h.log.Head(ctx, id)
	return current.addTo(i), err
}

// Source returns the code of a version; 0 is the current one. Error: kind [fault.NotFound].
func (h *Host) Source(ctx context.Context, id string, version int) (Version, string, error) {
	i, err := h.log.Head(ctx, id)
	if err != nil {
		return Version{}, "", err
	}
	v, ok := i.version(version)
	if !ok {
		return v, "", fault.Errorf(fault.NotFound, "the interface has no version %d", version)
	}
	source, err := h.source(ctx, id, v.Number)
	return v, string(source), err
}

// Script returns a version as the frame runs it; 0 is the current one. Errors: those of [Host.Source], kind [fault.Invalid] for
// code that no longer passes [code.Check].
func (h *Host) Script(ctx context.Context, id string, version int) (Version, string, error) {
	v, source, err := h.Source(ctx, id, version)
	if err != nil {
		return v, "", err
	}
	script, err := code.Build(source)
	if err != nil {
		return v, "", fault.Errorf(fault.Invalid, "this version can no longer be shown: %w", err)
	}
	return v, script, nil
}

// Reader returns a reader of the events of an interface above a number. It ends after the interface was deleted. Error: kind
// [fault.NotFound] if that was before the read.
func (h *Host) Reader(id string, after uint64) *follow.Reader[Event] {
	return follow.New(eventLog{h, id}, func(e Event) uint64 { return e.Number }, after)
}

// eventLog is the events of an interface.
type eventLog struct {
	host *Host
	id   string
}

// pollEvery is the interval at which a waiting reader looks for changes by other processes.
const pollEvery = 3 * time.Second

// Next implements [follow.Log].
func (l eventLog) Next(ctx context.Context, after uint64, limit int) ([]Event, error) {
	for {
		r, i, err := l.host.existing(ctx, l.id)
		if err != nil {
			return nil, err
		}
		r.notice(i)
		waiting, cancel := context.WithTimeout(ctx, pollEvery)
		entries, err := r.events.Next(waiting, after, limit)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			continue
		}
		list := make([]Event, len(entries))
		for n, e := range entries {
			list[n] = e.Value
			list[n].Number = e.N
		}
		return list, err
	}
}

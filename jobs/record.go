package jobs

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/journal"
)

// facts are what is known of a job or a task: [JobInfo] or [TaskInfo]. All but the status of an end follows from the events.
type facts interface {
	copied() facts
	take(e Event)                 // an event that follows
	end(how Status, at time.Time) // what its events cannot say
	status() Status
	ended() time.Time
	events() uint64
}

// record is what jobs and tasks have in common: the events of an activity, and what is known of it.
type record struct {
	host    *Host
	kind    kind
	id      string
	journal *journal.Journal[Event] // nil: it is read from the store
	stop    context.CancelCauseFunc // ends the work; the cause is one of the errors below
	done    chan struct{}           // closed when it has ended
	writing chan struct{}           // holds a token while events are written

	mu   sync.Mutex
	info facts
	next *batch
	head time.Time // when the store was given the facts last
	lost bool      // another process has taken it: what counts stands in the store
	owed bool      // the store did not take its end
}

// Why work is ended.
var (
	errCanceled = errors.New("it was canceled")
	errStopping = errors.New("the portal was stopped")
)

// headEvery is how old the facts in the store may become. What is newer is found out from the events behind them.
const headEvery = 2 * time.Second

// batch is what is written together. Those who publish at the same time share one.
type batch struct {
	bodies []Body
	how    Status // of an end; "" before
	err    error
}

// newRecord is one that this process writes.
func newRecord(h *Host, k kind, id string, info facts) *record {
	return &record{
		host: h, kind: k, id: id, info: info, journal: journal.New(journal.Options[Event]{}), stop: func(error) {},
		done: make(chan struct{}), writing: make(chan struct{}, 1), next: &batch{}, head: time.Now(),
	}
}

// publish numbers events, stores them and then lets readers have them, all or nothing. Error: the store did not take them.
func (r *record) publish(bodies ...Body) error { return r.write("", bodies) }

// finish is publish of the last events. It is told even if the store does not take it: nobody waits for ever.
func (r *record) finish(how Status, bodies ...Body) { _ = r.write(how, bodies) }

func (r *record) write(how Status, bodies []Body) error {
	r.mu.Lock()
	b := r.next
	b.bodies = append(b.bodies, bodies...)
	if how != "" {
		b.how = how
	}
	r.mu.Unlock()
	r.writing <- struct{}{}
	defer func() { <-r.writing }()
	r.mu.Lock()
	mine := r.next == b // else somebody has written it meanwhile
	if mine {
		r.next = &batch{}
	}
	r.mu.Unlock()
	if mine {
		b.err = r.put(b)
	}
	return b.err
}

// put writes a batch. It is called by one goroutine at a time.
func (r *record) put(b *batch) error {
	r.mu.Lock()
	info, head, lost := r.info.copied(), r.head, r.lost
	r.mu.Unlock()
	if info.status().Ended() {
		return errCanceled // nothing comes behind an end
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	events := make([]Event, len(b.bodies))
	for i, body := range b.bodies {
		events[i] = Event{Number: info.events() + 1, Time: at, Body: body}
		info.take(events[i])
	}
	if b.how != "" {
		info.end(b.how, at)
	}
	withHead := b.how != "" || time.Since(head) >= headEvery
	err := r.keep(info, events, withHead, lost)
	if err != nil && b.how == "" {
		return err
	}
	r.show(info, events, withHead, err)
	return nil
}

// show lets readers have events.
func (r *record) show(info facts, events []Event, withHead bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.info = info
	if withHead {
		r.head = time.Now()
	}
	r.lost = r.lost || isLost(err)
	r.owed = err != nil && !r.lost
	if !r.lost {
		for _, e := range events {
			_, _ = r.journal.Append(e) // nobody else closes it
		}
	}
	if info.status().Ended() {
		r.journal.Close()
	}
}

// snapshot is what is known now.
func (r *record) snapshot() facts {
	if r.isStored() {
		return r.stored()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.info.copied()
}

// isStored says whether another process or life has written what counts.
func (r *record) isStored() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.journal == nil || r.lost
}

// read is Next of jobs and tasks.
func (r *record) read(ctx context.Context, after uint64, limit int) ([]Event, error) {
	if r.isStored() {
		return r.readOn(ctx, after, limit)
	}
	entries, err := r.journal.Next(ctx, after, limit)
	switch {
	case errors.Is(err, io.EOF) && r.isStored():
		return r.readOn(ctx, after, limit)
	case err != nil:
		return nil, err
	}
	list := make([]Event, len(entries))
	for i, e := range entries {
		list[i] = e.Value
	}
	return list, nil
}

// cancel ends the work; closed is the error if it has ended already.
func (r *record) cancel(ctx context.Context, closed error) error {
	if r.isStored() {
		return r.cancelStored(ctx, closed)
	}
	r.mu.Lock()
	over := r.info.status().Ended()
	r.mu.Unlock()
	if over {
		return closed
	}
	r.stop(errCanceled)
	select {
	case <-r.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

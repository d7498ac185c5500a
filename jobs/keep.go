package jobs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// kind is that of an activity in the store.
type kind string

const (
	kindJob  kind = "job"
	kindTask kind = "task"
)

// lead is how many lines stand before the first event: a job begins with its book.
func (k kind) lead() uint64 {
	if k == kindJob {
		return 1
	}
	return 0
}

// blank are facts to be read into.
func (k kind) blank() facts {
	if k == kindJob {
		return &JobInfo{}
	}
	return &TaskInfo{}
}

// How long an event waits for a store that does not take it, and how often it is offered.
const (
	keepFor   = 5 * time.Second
	keepEvery = 250 * time.Millisecond
)

func isLost(err error) bool { return errors.Is(err, store.ErrLost) }

// keep stores events, and the facts if they are to be written, and tries again for a while if that fails.
func (r *record) keep(info facts, events []Event, withHead, lost bool) error {
	s := r.host.options.Store
	switch {
	case s == nil:
		return nil
	case lost:
		return store.ErrLost
	}
	lines, err := encodeAll(events)
	if err != nil {
		return err
	}
	a := r.activity(info, withHead)
	err = persist(func(ctx context.Context) error {
		_, err := s.Note(ctx, a, lines...)
		if err != nil && r.arrived(ctx, events, lines) {
			return nil
		}
		return err
	})
	switch {
	case err == nil:
		return nil
	case isLost(err) && r.isForgotten():
		return copilot.Errorf(copilot.Unavailable, "the events cannot be stored: the store has begun anew, without them")
	case isLost(err), errors.Is(err, store.ErrClosed):
		return err
	}
	r.host.options.Log.Error("the store does not take events", "of", r.kind, "id", r.id, "error", err)
	return copilot.Errorf(copilot.Unavailable, "the events cannot be stored: %w", err)
}

// persist tries something with the store until it is done, cannot be done or takes too long.
func persist(try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), keepFor)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil || isLost(err) || errors.Is(err, store.ErrClosed) || errors.Is(err, store.ErrExists) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(keepEvery):
		}
	}
}

// arrived says whether a write that seemed to fail has been made.
func (r *record) arrived(ctx context.Context, events []Event, lines [][]byte) bool {
	if len(events) == 0 {
		return false
	}
	before := events[len(events)-1].Number - 1 + r.kind.lead()
	last, err := r.host.options.Store.Lines(ctx, string(r.kind), r.id, before, 1)
	return err == nil && len(last) == 1 && bytes.Equal(last[0], lines[len(lines)-1])
}

// isForgotten says whether nobody else has taken it: the file of the store was removed or damaged, and there is a fresh
// one. What counts is here, then.
func (r *record) isForgotten() bool {
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	_, err := r.host.options.Store.Activity(ctx, string(r.kind), r.id)
	return errors.Is(err, store.ErrNotFound)
}

// settle stores an end that the store did not take when it came. Settled says that the store has all there is.
func (r *record) settle(ctx context.Context) (settled bool, err error) {
	r.mu.Lock()
	info, owed, s := r.info, r.owed, r.host.options.Store
	r.mu.Unlock()
	if s == nil || !info.status().Ended() {
		return false, nil
	}
	if !owed {
		return true, nil
	}
	a, err := s.Activity(ctx, string(r.kind), r.id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil // nobody asks for it there
	}
	if err != nil {
		return false, err
	}
	err = r.note(ctx, info, a)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = r.lost || isLost(err)
	r.owed = err != nil && !r.lost
	return !r.owed, err
}

// note writes what the store does not have yet.
func (r *record) note(ctx context.Context, info facts, a store.Activity) error {
	now, cancel := context.WithCancel(ctx)
	cancel() // nothing more will come
	after := a.Last - min(a.Last, r.kind.lead())
	var missing []Event
	for {
		entries, err := r.journal.Next(now, after, 0)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			missing = append(missing, e.Value)
		}
		after += uint64(len(entries))
	}
	lines, err := encodeAll(missing)
	if err != nil {
		return err
	}
	_, err = r.host.options.Store.Note(ctx, r.activity(info, true), lines...)
	return err
}

// activity is the record as the store has it.
func (r *record) activity(info facts, withHead bool) store.Activity {
	a := store.Activity{Kind: string(r.kind), ID: r.id, Done: info.status().Ended()}
	if withHead {
		a.Head, _ = json.Marshal(info) // texts and numbers
	}
	return a
}

// begin makes an activity known to the store.
func (r *record) begin(lines ...[]byte) error {
	s := r.host.options.Store
	if s == nil {
		return nil
	}
	a := r.activity(r.info, true)
	a.Created = time.Now()
	err := persist(func(ctx context.Context) error { return s.Begin(ctx, a) })
	if errors.Is(err, store.ErrExists) {
		err = nil // an attempt that seemed to fail has made it
	}
	if err == nil && len(lines) > 0 {
		a.Head = nil
		err = persist(func(ctx context.Context) error {
			_, err := s.Note(ctx, a, lines...)
			if err != nil {
				if now, lookErr := s.Activity(ctx, a.Kind, a.ID); lookErr == nil && now.Last > 0 {
					return nil // it has been written nevertheless
				}
			}
			return err
		})
	}
	if err != nil {
		return copilot.Errorf(copilot.Unavailable, "the %s cannot be stored: %w", r.kind, err)
	}
	return nil
}

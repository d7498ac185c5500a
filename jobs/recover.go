package jobs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/store"
)

// Recover ends, as Interrupted, what processes have left that are gone. Call it now and then.
func (h *Host) Recover(ctx context.Context) error {
	if h.options.Store == nil {
		return nil
	}
	var all error
	for _, k := range []kind{kindTask, kindJob} {
		taken, err := h.options.Store.Adopt(ctx, string(k))
		all = errors.Join(all, err)
		h.mu.Lock()
		for _, a := range taken {
			h.left[a.ID] = a
		}
		h.mu.Unlock()
	}
	h.mu.Lock()
	left := slices.Collect(maps.Values(h.left))
	h.mu.Unlock()
	for _, a := range left {
		all = errors.Join(all, h.settleLeft(ctx, a))
	}
	return all
}

// settleLeft buries what was taken. If that fails it is tried again the next time, for nobody else will.
func (h *Host) settleLeft(ctx context.Context, a store.Activity) error {
	err := h.bury(ctx, kind(a.Kind), a)
	if err != nil && !isLost(err) { // it has been ended meanwhile
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.left, a.ID)
	return nil
}

// bury ends what nobody does any more.
func (h *Host) bury(ctx context.Context, k kind, a store.Activity) error {
	info, err := h.factsOf(ctx, k, a)
	if copilot.KindOf(err) == copilot.Unavailable {
		return err
	}
	if err != nil { // nobody can read what it was
		info = k.unknown(a)
	}
	at := time.Now().UTC().Truncate(time.Millisecond)
	var events []Event
	for _, b := range lastWords(info) {
		e := Event{Number: info.events() + 1, Time: at, Body: b}
		info.take(e)
		events = append(events, e)
	}
	info.end(Interrupted, at)
	lines, err := encodeAll(events)
	if err != nil {
		return err
	}
	r := &record{host: h, kind: k, id: a.ID}
	if _, err := h.options.Store.Note(ctx, r.activity(info, true), lines...); err != nil {
		return err
	}
	if t, ok := info.(*TaskInfo); ok {
		h.clearUp(ctx, t)
	}
	return nil
}

// unknown are facts in the place of those that cannot be read.
func (k kind) unknown(a store.Activity) facts {
	n := a.Last - min(a.Last, k.lead())
	if k == kindJob {
		return &JobInfo{ID: a.ID, Status: Running, Started: a.Created, Events: n}
	}
	return &TaskInfo{ID: a.ID, Status: Running, Started: a.Created, Events: n}
}

const portalEnded = "The portal ended in the middle of it."

// lastWords end what was begun, and then the whole.
func lastWords(info facts) (bodies []Body) {
	switch i := info.(type) {
	case *JobInfo:
		for _, p := range i.Works {
			if p.Status == Running {
				bodies = append(bodies, WorkStopped{Work: p.Work, Status: Interrupted})
			}
		}
		return append(bodies, JobError{portalEnded}, JobInterrupted{})
	case *TaskInfo:
		for _, s := range i.Sessions {
			if s.Status == Running {
				bodies = append(bodies, TaskSessionStopped{Session: s.ID})
			}
		}
	}
	return append(bodies, TaskError{portalEnded}, TaskFailed{})
}

// clearUp closes the sessions that a task has left open, and takes its tools from one that was borrowed.
func (h *Host) clearUp(ctx context.Context, t *TaskInfo) {
	for _, told := range t.Sessions {
		s, err := h.options.Sessions.Session(ctx, told.ID)
		if err != nil {
			continue
		}
		if t.Borrowed {
			_ = s.SetTools(ctx, withoutJobTools(s.Tools())) // another process may have it: nothing to be done
			continue
		}
		_ = s.Close()
	}
}

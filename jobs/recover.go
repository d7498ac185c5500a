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
	open, err := h.openSessions(ctx, info)
	if err != nil {
		return err
	}
	for _, b := range lastWords(info, open) {
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

// openSessions are those that tasks of a job had when it was left, by the tasks.
func (h *Host) openSessions(ctx context.Context, info facts) (open map[string]string, err error) {
	open = map[string]string{}
	job, ok := info.(*JobInfo)
	if !ok {
		return open, nil
	}
	for after := uint64(0); after < job.Events; {
		events, err := h.lines(ctx, kindJob, job.ID, after, 0)
		if copilot.KindOf(err) == copilot.Unavailable {
			return nil, err
		}
		if len(events) == 0 {
			break // what cannot be read cannot be ended
		}
		after += uint64(len(events))
		for _, e := range events {
			note(open, e.Body)
		}
	}
	return open, nil
}

func note(open map[string]string, b Body) {
	told, ok := b.(WorkTold)
	if !ok {
		return
	}
	switch s := told.Body.(type) {
	case TaskSessionStarted:
		open[told.Task] = s.Session
	case TaskSessionStopped:
		delete(open, told.Task)
	}
}

// lastWords end what was begun, and then the whole. open are the sessions of the tasks of a job.
func lastWords(info facts, open map[string]string) (bodies []Body) {
	switch i := info.(type) {
	case *JobInfo:
		for _, p := range i.Works {
			if p.Status != Running {
				continue
			}
			if s, ok := open[p.Task]; ok {
				bodies = append(bodies, WorkTold{p.Work, p.Task, TaskSessionStopped{Session: s}})
			}
			last := []Body{TaskDecision{portalEnded}, TaskError{portalEnded}, TaskFailed{}}
			bodies = append(bodies, told(p.Work, p.Task, last)...)
			bodies = append(bodies, WorkStopped{Work: p.Work, Status: Interrupted})
		}
		return append(bodies, JobError{portalEnded}, JobInterrupted{})
	case *TaskInfo:
		for _, s := range i.Sessions {
			if s.Status == Running {
				bodies = append(bodies, TaskSessionStopped{Session: s.ID})
			}
		}
	}
	return append(bodies, TaskDecision{portalEnded}, TaskError{portalEnded}, TaskFailed{})
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

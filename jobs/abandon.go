package jobs

import (
	"context"

	"github.com/copilot-portal/portal/copilot/activity"
	"github.com/copilot-portal/portal/copilot/fault"
)

const portalEnded = "The portal ended before the work did."

// abandonJob finalizes a job whose portal is gone: first its works, then the job itself.
func (h *Host) abandonJob(ctx context.Context, i JobInfo) (end activity.End[JobInfo, Event], err error) {
	sessions, err := h.openSessions(ctx, i)
	if err != nil {
		return end, err
	}
	var bodies []Body
	for _, p := range i.Works {
		if p.Status != Running {
			continue
		}
		if s, ok := sessions[p.Task]; ok {
			bodies = append(bodies, WorkEvent{p.Work, p.Task, TaskSessionStopped{Session: s}})
		}
		last := []Body{TaskDecision{portalEnded}, TaskError{portalEnded}, TaskFailed{}}
		bodies = append(bodies, taskEventsOfJob(p.Work, p.Task, last)...)
		bodies = append(bodies, WorkStopped{Work: p.Work, Status: Interrupted})
	}
	bodies = append(bodies, JobError{portalEnded}, JobInterrupted{})
	return activity.End[JobInfo, Event]{Entries: events(bodies)}, nil
}

// openSessions returns the sessions that an abandoned job left open, by task id.
func (h *Host) openSessions(ctx context.Context, i JobInfo) (map[string]string, error) {
	open := map[string]string{}
	for after := uint64(0); after < i.Events; {
		list, err := h.jobs.Entries(ctx, i.ID, after, 0)
		if fault.KindOf(err) == fault.Unavailable {
			return nil, err
		}
		if len(list) == 0 {
			break // an event that cannot be decoded cannot be finalized
		}
		after += uint64(len(list))
		for _, e := range list {
			wrapped, _ := e.Body.(WorkEvent)
			switch b := wrapped.Body.(type) {
			case TaskSessionStarted:
				open[wrapped.Task] = b.Session
			case TaskSessionStopped:
				delete(open, wrapped.Task)
			}
		}
	}
	return open, nil
}

// abandonTask finalizes a task whose portal is gone.
func abandonTask(_ context.Context, i TaskInfo) (activity.End[TaskInfo, Event], error) {
	var bodies []Body
	for _, s := range i.Sessions {
		if s.Status == Running {
			bodies = append(bodies, TaskSessionStopped{Session: s.ID})
		}
	}
	bodies = append(bodies, TaskDecision{portalEnded}, TaskError{portalEnded}, TaskFailed{})
	return activity.End[TaskInfo, Event]{Entries: events(bodies), Change: func(i *TaskInfo) { i.Status = Interrupted }}, nil
}

// closeSessions closes the sessions that an abandoned task left open. A borrowed session loses the tools of the task, and its prompt that
// waits.
func (h *Host) closeSessions(ctx context.Context, i TaskInfo) {
	for _, t := range i.Sessions {
		s, err := h.options.Sessions.Session(ctx, t.ID)
		if err != nil {
			continue
		}
		if i.Borrowed {
			for _, prompt := range s.Queue() {
				if prompt.By == Origin {
					_ = s.Cancel(prompt.Run) // fails if it has begun
				}
			}
			_ = s.SetTools(ctx, withoutJobTools(s.Tools())) // fails if another process holds the session; then there is nothing to do
			continue
		}
		_ = s.Close()
	}
}

package mcp

import (
	"context"
	"maps"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs"
)

// The names of the tools for jobs.
const (
	listJobs = "list_jobs"
	runJob   = "run_job"
	watchJob = "watch_job"
	stopJob  = "stop_job"
)

func (a *API) addJobTools() {
	add(a, tool{listJobs, "List jobs", "Lists the jobs of the job book, and those that run or ended within the last hour.", reads}, a.jobs)
	add(a, tool{runJob, "Run a job", "Starts a job of the job book and waits until it has ended or waitSeconds have passed. The job runs on when the call is cancelled.", acts}, a.runJob)
	add(a, tool{watchJob, "Watch a job", "Waits until a job has ended or waitSeconds have passed, and returns its state.", reads}, a.watchJob)
	add(a, tool{stopJob, "Stop a job", "Stops a job and all its sessions.", acts}, a.stopJob)
}

type none struct{}

type jobList struct {
	Jobs   []jobPlan  `json:"jobs"`
	Recent []jobState `json:"recent"`
}

type jobPlan struct {
	Name             string `json:"name"`
	RequireUserInput bool   `json:"requireUserInput"`
}

func (a *API) jobs(ctx context.Context, _ call, _ none) (jobList, error) {
	if a.options.BookFault != nil {
		return jobList{}, a.options.BookFault
	}
	recent, err := a.options.Jobs.Running(ctx)
	if err != nil {
		return jobList{}, err
	}
	all := a.options.Jobs.Book().Jobs
	plans := wire.List(slices.Sorted(maps.Keys(all)), func(name string) jobPlan { return jobPlan{name, all[name].RequireUserInput} })
	return jobList{Jobs: plans, Recent: wire.List(recent, stateOf)}, nil
}

type runJobArgs struct {
	Name        string   `json:"name" jsonschema:"of a job in list_jobs"`
	Directory   string   `json:"directory,omitempty" jsonschema:"absolute path of the working directory; default: that of the portal"`
	Input       string   `json:"input,omitempty" jsonschema:"what to do, for jobs that require user input"`
	WaitSeconds *float64 `json:"waitSeconds,omitempty" jsonschema:"how long to wait; default 50, at most 3600, 0 returns at once"`
}

// jobState is a job as far as it has come.
type jobState struct {
	JobID     string      `json:"jobId"`
	Name      string      `json:"name"`
	Status    jobs.Status `json:"status" jsonschema:"Running, Succeeded, Failed, Canceled or Interrupted"`
	Directory string      `json:"directory"`
	Input     string      `json:"input,omitempty"`
	StartedAt string      `json:"startedAt"`
	EndedAt   string      `json:"endedAt,omitempty"`
	Reason    string      `json:"reason,omitempty" jsonschema:"the latest decision of the agent"`
	Error     string      `json:"error,omitempty"`
	Tasks     []taskState `json:"tasks"`
}

type taskState struct {
	Name   string      `json:"name"`
	TaskID string      `json:"taskId,omitempty"`
	Status jobs.Status `json:"status"`
	Rounds int         `json:"rounds"`
	Reason string      `json:"reason,omitempty"`
}

func stateOf(i jobs.JobInfo) jobState {
	return jobState{
		JobID: i.ID, Name: i.Name, Status: i.Status, Directory: i.Directory, Input: secret.Mask(i.Input), StartedAt: event.FormatTime(i.Started), EndedAt: event.FormatTime(i.Ended),
		Reason: i.Reason, Error: i.Error,
		Tasks: wire.List(i.Works, func(w jobs.Progress) taskState { return taskState{w.Name, w.Task, w.Status, w.Rounds, w.Reason} }),
	}
}

func (a *API) runJob(ctx context.Context, c call, in runJobArgs) (jobState, error) {
	deadline, err := newDeadline(in.WaitSeconds)
	switch {
	case err != nil:
		return jobState{}, err
	case a.options.BookFault != nil:
		return jobState{}, a.options.BookFault
	}
	if err := a.checkTop(ctx, c); err != nil {
		return jobState{}, err
	}
	j, err := a.options.Jobs.StartJob(ctx, jobs.JobRequest{Name: in.Name, Directory: in.Directory, Input: in.Input})
	if err != nil {
		return jobState{}, err
	}
	return followJob(ctx, c, j, 0, deadline)
}

type watchJobArgs struct {
	JobID       string   `json:"jobId"`
	WaitSeconds *float64 `json:"waitSeconds,omitempty" jsonschema:"how long to wait; default 50, at most 3600, 0 returns at once"`
}

func (a *API) watchJob(ctx context.Context, c call, in watchJobArgs) (jobState, error) {
	deadline, err := newDeadline(in.WaitSeconds)
	if err != nil {
		return jobState{}, err
	}
	j, err := a.options.Jobs.Job(ctx, in.JobID)
	if err != nil {
		return jobState{}, err
	}
	return followJob(ctx, c, j, j.Info().Events, deadline)
}

// followJob waits for the end of a job and reports its events with numbers above after.
func followJob(ctx context.Context, c call, j *jobs.Job, after uint64, d deadline) (jobState, error) {
	if err := followWork(ctx, c, j.Reader(after), d, jobText); err != nil {
		return jobState{}, err
	}
	return stateOf(j.Info()), nil
}

// jobText describes an event of a job on one line; "" for events that are no progress.
func jobText(e jobs.Event) string {
	switch b := e.Body.(type) {
	case jobs.WorkStarted:
		return "A task has started."
	case jobs.WorkStopped:
		return "A task has ended: " + string(b.Status) + "."
	case jobs.WorkEvent:
		if decision, ok := b.Body.(jobs.TaskDecision); ok {
			return oneLine(decision.Reason)
		}
	}
	return ""
}

type jobArgs struct {
	JobID string `json:"jobId"`
}

func (a *API) stopJob(ctx context.Context, _ call, in jobArgs) (jobState, error) {
	j, err := a.options.Jobs.Job(ctx, in.JobID)
	if err != nil {
		return jobState{}, err
	}
	if err := j.Cancel(ctx); err != nil {
		return jobState{}, err
	}
	return stateOf(j.Info()), nil
}

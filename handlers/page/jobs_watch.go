package page

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs"
)

// The notifications about jobs.
const (
	notifyJobs      = "portal.jobs.changed"
	notifyJobEvent  = "portal.job.event"
	notifyJobClosed = "portal.job.closed"
)

// pollJobsEvery is the interval at which the list of jobs is read for changes without a signal:
// progress, and jobs of other processes. jobsPause is how long changes are collected.
const (
	pollJobsEvery = 3 * time.Second
	jobsPause     = time.Second / 2
)

type jobResult struct {
	Job   jobInfo `json:"job"`
	Chart *chart  `json:"chart,omitempty"` // missing if the job's book can no longer be read
}

// watchJob is portal.job.watch. A second call replaces the first watch.
func (n *connection) watchJob(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		oneJob
		After uint64 `json:"after"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	job, err := n.job(ctx, p.oneJob)
	if err != nil {
		return nil, err
	}
	info := job.Info()
	if err := n.startWatch(ctx, r, jobKey(info.ID), func(ctx context.Context) { n.sendJobEvents(ctx, job, p.After) }); err != nil {
		return nil, err
	}
	return jobResult{encodeJob(info), n.chartOf(ctx, info.ID)}, nil
}

// chartOf returns the chart of a job; nil if its book cannot be read.
func (n *connection) chartOf(ctx context.Context, id string) *chart {
	nodes, err := n.jobs().Chart(ctx, id)
	if err != nil {
		n.api.options.Log.Warn("cannot draw job", "job", id, "err", err)
	}
	if len(nodes) == 0 {
		return nil
	}
	return &chart{nodes}
}

// unwatchJob is portal.job.unwatch. Nothing about the job follows its response.
func (n *connection) unwatchJob(ctx context.Context, p oneJob) (any, error) {
	if p.JobID == "" {
		return nil, jsonrpc.InvalidParams(`"job_id" is missing`)
	}
	was, err := n.replaceWatch(ctx, jobKey(p.JobID), nil)
	return map[string]bool{"watched": was}, err
}

// jobBatch limits the events of one read.
const jobBatch = 100

// sendJobEvents sends the events of a job, up to its end.
func (n *connection) sendJobEvents(ctx context.Context, job *jobs.Job, after uint64) {
	reader := job.Reader(after)
	reader.Limit, reader.Retry = jobBatch, n.retry(jobKey(job.ID()))
	for b, err := range reader.All(ctx) {
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			n.closeJob(ctx, job, err)
			return
		}
		for _, e := range b.Entries {
			if n.client.Notify(ctx, notifyJobEvent, encodeJobEvent(job.ID(), e)) != nil {
				return // the connection ends
			}
		}
	}
	n.closeJob(ctx, job, nil)
}

type jobClosed struct {
	JobID   string  `json:"job_id"`
	Job     jobInfo `json:"job"`
	Message string  `json:"message,omitempty"`
}

// closeJob reports that nothing more follows about a job: it has ended or, if err is not nil,
// cannot be read.
func (n *connection) closeJob(ctx context.Context, job *jobs.Job, err error) {
	closed := jobClosed{JobID: job.ID(), Job: encodeJob(job.Info())}
	if err != nil {
		n.api.options.Log.Warn("cannot read job", "job", job.ID(), "err", err)
		closed.Message = "the portal cannot read the record of the job; see its log"
	}
	_ = n.client.Notify(ctx, notifyJobClosed, closed) // what fails here fails again
}

// watchJobs is portal.jobs.watch. A second call replaces the first watch.
func (n *connection) watchJobs(ctx context.Context, r *jsonrpc.Request) (any, error) {
	if n.jobs() == nil {
		return jobHistory{[]jobInfo{}}, nil
	}
	seen, err := n.jobs().Changed(ctx, 0)
	if err != nil {
		return nil, err
	}
	list, err := n.newestJobs(ctx, recentJobs)
	if err != nil {
		return nil, err
	}
	w := listWatch{seen: seen, known: map[string]uint64{}}
	w.differs(list)
	if err := n.startWatch(ctx, r, allJobs, func(ctx context.Context) { n.sendJobChanges(ctx, &w) }); err != nil {
		return nil, err
	}
	return jobHistory{inList(list)}, nil
}

// unwatchJobs is portal.jobs.unwatch. Nothing about the list of jobs follows its response.
func (n *connection) unwatchJobs(ctx context.Context, _ *jsonrpc.Request) (any, error) {
	was, err := n.replaceWatch(ctx, allJobs, nil)
	return map[string]bool{"watched": was}, err
}

// listWatch is what a UI knows of the list of jobs.
type listWatch struct {
	seen  uint64            // of Changed
	known map[string]uint64 // by job: the number of its newest event
}

// differs updates what the UI knows, and returns the jobs that have changed.
func (w *listWatch) differs(list []jobs.JobInfo) (news []jobs.JobInfo) {
	for _, i := range list {
		if events, known := w.known[i.ID]; !known || events != i.Events {
			w.known[i.ID] = i.Events
			news = append(news, i)
		}
	}
	return news
}

// sendJobChanges sends the jobs that have changed, until ctx ends.
func (n *connection) sendJobChanges(ctx context.Context, w *listWatch) {
	for {
		follow.PauseUntil(ctx, time.Now().Add(jobsPause))
		if ctx.Err() != nil {
			return
		}
		waiting, stop := context.WithTimeout(ctx, pollJobsEvery)
		if seen, err := n.jobs().Changed(waiting, w.seen); err == nil {
			w.seen = seen
		}
		stop()
		list, err := n.newestJobs(ctx, recentJobs)
		if err != nil {
			n.api.options.Log.Debug("cannot list jobs for a UI", "err", err) // the next attempt may succeed
			continue
		}
		if news := w.differs(list); len(news) > 0 && n.client.Notify(ctx, notifyJobs, jobHistory{inList(news)}) != nil {
			return
		}
	}
}

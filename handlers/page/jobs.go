package page

import (
	"cmp"
	"context"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/jobs/book"
)

type jobsResult struct {
	Book  string               `json:"book"` // the name of its file; "": there is none
	Grid  []book.Row           `json:"grid"`
	Jobs  map[string]listedJob `json:"jobs"`
	Chart map[string]chart     `json:"chart"`
}

// listedJob is a job of the book.
type listedJob struct {
	RequireUserInput bool       `json:"require_user_input"`
	Work             *book.Work `json:"work"`
}

type chart struct {
	Nodes []book.Node `json:"nodes"`
}

// listJobs is portal.jobs.list.
func (n *connection) listJobs(context.Context, *jsonrpc.Request) (any, error) {
	result := jobsResult{Grid: []book.Row{}, Jobs: map[string]listedJob{}, Chart: map[string]chart{}}
	if n.jobs() == nil {
		return result, nil
	}
	b := n.jobs().Book()
	result.Book, result.Grid = b.Source().Name, append(result.Grid, b.Grid...)
	for name, job := range b.Jobs {
		result.Jobs[name] = listedJob{job.RequireUserInput, job.Work}
		result.Chart[name] = chart{b.Chart(name)}
	}
	return result, nil
}

// jobs returns the host of all jobs; nil if the portal has none.
func (n *connection) jobs() *jobs.Host { return n.api.options.Jobs }

type jobHistory struct {
	Jobs []jobInfo `json:"jobs"`
}

// recentJobs is the default number of listed jobs.
const recentJobs = 50

type jobHistoryParams struct {
	Limit int `json:"limit"`
}

// jobHistory is portal.jobs.history.
func (n *connection) jobHistory(ctx context.Context, p jobHistoryParams) (any, error) {
	if p.Limit < 0 {
		return nil, jsonrpc.InvalidParams(`"limit" is less than 0`)
	}
	list, err := n.newestJobs(ctx, cmp.Or(p.Limit, recentJobs))
	return jobHistory{inList(list)}, err
}

// newestJobs returns the jobs that started last.
func (n *connection) newestJobs(ctx context.Context, limit int) ([]jobs.JobInfo, error) {
	if n.jobs() == nil {
		return nil, nil
	}
	return n.jobs().Jobs(ctx, limit)
}

type oneJob struct {
	JobID string `json:"job_id"`
}

type startJobParams struct {
	Name      string `json:"name"`
	Directory string `json:"directory"`
	Input     string `json:"input"`
	Key       string `json:"key"`
}

// startJob is portal.jobs.start.
func (n *connection) startJob(ctx context.Context, p startJobParams) (any, error) {
	if p.Name == "" {
		return nil, jsonrpc.InvalidParams(`"name" is missing`)
	}
	if n.jobs() == nil {
		return nil, jobs.ErrNotInBook
	}
	job, err := n.jobs().StartJob(ctx, jobs.JobRequest{Name: p.Name, Directory: cmp.Or(p.Directory, n.client.WorkDir()), Input: p.Input, Key: p.Key})
	if err != nil {
		return nil, err
	}
	return oneJob{job.ID()}, nil
}

// checkJob returns an error if the id is missing, or if there are no jobs.
func (n *connection) checkJob(p oneJob) error {
	switch {
	case p.JobID == "":
		return jsonrpc.InvalidParams(`"job_id" is missing`)
	case n.jobs() == nil:
		return jobs.ErrJobNotFound
	}
	return nil
}

// job returns the job that params name.
func (n *connection) job(ctx context.Context, p oneJob) (*jobs.Job, error) {
	if err := n.checkJob(p); err != nil {
		return nil, err
	}
	return n.jobs().Job(ctx, p.JobID)
}

// cancelJob is portal.job.cancel. It responds when the job has ended.
func (n *connection) cancelJob(ctx context.Context, p oneJob) (any, error) {
	job, err := n.job(ctx, p)
	if err == nil {
		err = job.Cancel(ctx)
	}
	return struct{}{}, err
}

// continueJob is portal.job.continue.
func (n *connection) continueJob(ctx context.Context, p oneJob) (any, error) {
	return n.startLike(ctx, p, (*jobs.Host).Continue)
}

// repeatJob is portal.job.repeat.
func (n *connection) repeatJob(ctx context.Context, p oneJob) (any, error) {
	return n.startLike(ctx, p, (*jobs.Host).Repeat)
}

// startLike starts a job after the one that params name.
func (n *connection) startLike(ctx context.Context, p oneJob, start func(*jobs.Host, context.Context, string) (*jobs.Job, error)) (any, error) {
	if err := n.checkJob(p); err != nil {
		return nil, err
	}
	job, err := start(n.jobs(), ctx, p.JobID)
	if err != nil {
		return nil, err
	}
	return oneJob{job.ID()}, nil
}

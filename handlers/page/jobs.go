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

// jobHistory is portal.jobs.history.
func (n *connection) jobHistory(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Limit int `json:"limit"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
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

// startJob is portal.jobs.start.
func (n *connection) startJob(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		Name      string `json:"name"`
		Directory string `json:"directory"`
		Input     string `json:"input"`
		Key       string `json:"key"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
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

// job returns the job that params name.
func (n *connection) job(ctx context.Context, r *jsonrpc.Request) (*jobs.Job, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	if n.jobs() == nil {
		return nil, jobs.ErrJobNotFound
	}
	return n.jobs().Job(ctx, id)
}

func jobID(r *jsonrpc.Request) (string, error) {
	var p oneJob
	if err := r.Decode(&p); err != nil {
		return "", err
	}
	if p.JobID == "" {
		return "", jsonrpc.InvalidParams(`"job_id" is missing`)
	}
	return p.JobID, nil
}

// cancelJob is portal.job.cancel. It responds when the job has ended.
func (n *connection) cancelJob(ctx context.Context, r *jsonrpc.Request) (any, error) {
	job, err := n.job(ctx, r)
	if err == nil {
		err = job.Cancel(ctx)
	}
	return struct{}{}, err
}

// continueJob is portal.job.continue.
func (n *connection) continueJob(ctx context.Context, r *jsonrpc.Request) (any, error) {
	return n.startLike(ctx, r, (*jobs.Host).Continue)
}

// repeatJob is portal.job.repeat.
func (n *connection) repeatJob(ctx context.Context, r *jsonrpc.Request) (any, error) {
	return n.startLike(ctx, r, (*jobs.Host).Repeat)
}

// startLike starts a job after the one that params name.
func (n *connection) startLike(ctx context.Context, r *jsonrpc.Request, start func(*jobs.Host, context.Context, string) (*jobs.Job, error)) (any, error) {
	id, err := jobID(r)
	if err != nil {
		return nil, err
	}
	if n.jobs() == nil {
		return nil, jobs.ErrJobNotFound
	}
	job, err := start(n.jobs(), ctx, id)
	if err != nil {
		return nil, err
	}
	return oneJob{job.ID()}, nil
}

package rest

import (
	"cmp"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs"
)

func (a *API) jobRoutes(r gin.IRoutes) {
	find := a.options.Jobs.Job
	r.GET("/copilot/job", reply(a.jobs))
	r.GET("/copilot/job/running", reply(a.runningJobs))
	r.GET("/copilot/job/history", reply(a.jobHistory))
	r.POST("/copilot/job/start/:name", reply(a.startJob))
	r.GET("/copilot/job/:id/status", replyFor(find, jobStatus))
	r.POST("/copilot/job/:id/continue", reply(a.continueJob))
	r.GET("/copilot/job/:id/stop", replyFor(find, stopJob))
	r.POST("/copilot/job/:id/stop", replyFor(find, stopJob))
	r.GET("/copilot/job/:id/live", replyFor(find, a.liveJob))
	r.GET("/copilot/job/:id/live/:token", replyFor(find, a.liveJob))
}

// jobs returns the contents of the book: the grid of buttons, the works and their charts.
func (a *API) jobs(*gin.Context) (any, error) {
	if a.options.BookFault != nil {
		return nil, a.options.BookFault
	}
	b, chart := a.options.Jobs.Book(), gin.H{}
	for name := range b.Jobs {
		chart[name] = gin.H{"nodes": b.Chart(name)}
	}
	return gin.H{"grid": b.Grid, "jobs": b.Jobs, "chart": chart}, nil
}

// startJob starts a job. The first line of the body is its directory, the rest the user input.
func (a *API) startJob(c *gin.Context) (any, error) {
	text, err := body(c, maxPrompt)
	if err != nil {
		return nil, err
	}
	directory, input, _ := strings.Cut(string(text), "\n")
	j, err := a.options.Jobs.StartJob(c.Request.Context(), jobs.JobRequest{
		Name:      wire.Param(c, "name"),
		Directory: cmp.Or(strings.TrimSpace(directory), copilot.ProjectOf(a.options.WorkDir)),
		Input:     userInput(input),
	})
	if err != nil {
		return nil, a.notStarted(err, jobs.ErrJobNotFound)
	}
	return gin.H{"jobId": j.ID()}, nil
}

func (a *API) continueJob(c *gin.Context) (any, error) {
	j, err := a.options.Jobs.Continue(c.Request.Context(), wire.Param(c, "id"))
	if err != nil {
		return nil, err
	}
	return gin.H{"jobId": j.ID()}, nil
}

func stopJob(c *gin.Context, j *jobs.Job) (any, error) {
	return gin.H{"result": "Closed"}, j.Cancel(c.Request.Context())
}

// liveJob serves both forms of live.
func (a *API) liveJob(c *gin.Context, j *jobs.Job) (any, error) {
	r := reader{marks: &a.jobMarks, id: j.ID(), token: wire.Param(c, "token"), closed: jobClosed, afterClosed: jobNotFound}
	return poll(c, r, jobSource{j})
}

func jobStatus(_ *gin.Context, j *jobs.Job) (any, error) { return DescribeJob(j.Info()), nil }

func (a *API) runningJobs(c *gin.Context) (any, error) {
	list, err := a.options.Jobs.Running(c.Request.Context())
	return gin.H{"jobs": SummarizeJobs(list)}, err
}

func (a *API) jobHistory(c *gin.Context) (any, error) {
	limit, err := number(c, "limit", 31)
	if err != nil {
		return nil, err
	}
	list, err := a.options.Jobs.Jobs(c.Request.Context(), int(limit)) //nolint:gosec // 31 bits
	return gin.H{"jobs": SummarizeJobs(list)}, err
}

// JobSummary is a job as lists show it.
type JobSummary struct {
	JobID            string      `json:"jobId"`
	JobName          string      `json:"jobName"`
	StartTime        string      `json:"startTime"`
	Status           jobs.Status `json:"status"`
	EndTime          string      `json:"endTime,omitempty"`
	WorkingDirectory string      `json:"workingDirectory"`
	UserInput        string      `json:"userInput,omitempty"`
	Error            string      `json:"error,omitempty"`
	Continues        string      `json:"continues,omitempty"` // id of the job that this one continues
}

// JobDescription is a job with its works.
type JobDescription struct {
	JobSummary

	Sessions int       `json:"sessions"` // opened so far
	Reason   string    `json:"reason,omitempty"`
	Tasks    []JobWork `json:"tasks"`
}

// JobWork is the progress of a Ref of a job.
type JobWork struct {
	WorkIDInJob int         `json:"workIdInJob"`
	TaskID      string      `json:"taskId,omitempty"`
	TaskName    string      `json:"taskName"`
	Status      jobs.Status `json:"status"`
	Rounds      int         `json:"rounds"` // how often it was started
	Reason      string      `json:"reason,omitempty"`
}

// SummarizeJobs returns summaries of jobs. The list is never nil.
func SummarizeJobs(infos []jobs.JobInfo) []JobSummary {
	return wire.List(infos, summarizeJob)
}

func summarizeJob(i jobs.JobInfo) JobSummary {
	return JobSummary{
		JobID: i.ID, JobName: i.Name, StartTime: event.FormatTime(i.Started), Status: i.Status, EndTime: event.FormatTime(i.Ended),
		WorkingDirectory: i.Directory, UserInput: secret.Mask(i.Input), Error: i.Error, Continues: i.Continues,
	}
}

// DescribeJob returns a job with its works.
func DescribeJob(i jobs.JobInfo) JobDescription {
	tasks := wire.List(i.Works, func(w jobs.Progress) JobWork { return JobWork{w.Work, w.Task, w.Name, w.Status, w.Rounds, w.Reason} })
	return JobDescription{JobSummary: summarizeJob(i), Sessions: i.Sessions, Reason: i.Reason, Tasks: tasks}
}

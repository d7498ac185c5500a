package rest

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs"
)

func (a *API) jobRoutes(r gin.IRoutes) {
	r.GET("/copilot/job", a.jobs)
	r.GET("/copilot/job/running", a.runningJobs)
	r.GET("/copilot/job/history", a.jobHistory)
	r.POST("/copilot/job/start/:name", a.startJob)
	r.GET("/copilot/job/:id/status", a.jobStatus)
	r.POST("/copilot/job/:id/continue", a.continueJob)
	r.GET("/copilot/job/:id/stop", a.stopJob)
	r.POST("/copilot/job/:id/stop", a.stopJob)
	r.GET("/copilot/job/:id/live", a.liveJob)
	r.GET("/copilot/job/:id/live/:token", a.liveJob)
}

// jobs returns the contents of the book: the grid of buttons, the works and their charts.
func (a *API) jobs(c *gin.Context) {
	if a.options.BookFault != nil {
		fail(c, a.options.BookFault)
		return
	}
	b, chart := a.options.Jobs.Book(), gin.H{}
	for name := range b.Jobs {
		chart[name] = gin.H{"nodes": b.Chart(name)}
	}
	c.JSON(http.StatusOK, gin.H{"grid": b.Grid, "jobs": b.Jobs, "chart": chart})
}

// startJob starts a job. The first line of the body is its directory, the rest the user input.
func (a *API) startJob(c *gin.Context) {
	text, err := body(c, maxPrompt)
	if err != nil {
		fail(c, err)
		return
	}
	directory, input, _ := strings.Cut(string(text), "\n")
	j, err := a.options.Jobs.StartJob(c.Request.Context(), jobs.JobRequest{
		Name:      wire.Param(c, "name"),
		Directory: cmp.Or(strings.TrimSpace(directory), copilot.ProjectOf(a.options.WorkDir)),
		Input:     userInput(input),
	})
	started(c, j, a.notStarted(err, jobs.ErrJobNotFound))
}

func started(c *gin.Context, j *jobs.Job, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"jobId": j.ID()})
}

func (a *API) continueJob(c *gin.Context) {
	j, err := a.options.Jobs.Continue(c.Request.Context(), wire.Param(c, "id"))
	started(c, j, err)
}

// withJob calls do with the job of the path, or answers that there is none.
func (a *API) withJob(c *gin.Context, do func(*jobs.Job)) {
	j, err := a.options.Jobs.Job(c.Request.Context(), wire.Param(c, "id"))
	if err != nil {
		fail(c, err)
		return
	}
	do(j)
}

func (a *API) stopJob(c *gin.Context) {
	a.withJob(c, func(j *jobs.Job) { stopped(c, j.Cancel(c.Request.Context())) })
}

// liveJob serves both forms of live.
func (a *API) liveJob(c *gin.Context) {
	a.withJob(c, func(j *jobs.Job) {
		r := reader{marks: &a.jobMarks, id: j.ID(), token: wire.Param(c, "token"), closed: jobClosed, afterClosed: jobNotFound}
		poll(c, r, jobSource{j})
	})
}

func (a *API) jobStatus(c *gin.Context) {
	a.withJob(c, func(j *jobs.Job) { c.JSON(http.StatusOK, DescribeJob(j.Info())) })
}

func (a *API) runningJobs(c *gin.Context) {
	list, err := a.options.Jobs.Running(c.Request.Context())
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"jobs": SummarizeJobs(list)})
}

func (a *API) jobHistory(c *gin.Context) {
	limit, err := number(c, "limit", 31)
	if err != nil {
		fail(c, err)
		return
	}
	list, err := a.options.Jobs.Jobs(c.Request.Context(), int(limit)) //nolint:gosec // 31 bits
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"jobs": SummarizeJobs(list)})
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
		JobID: i.ID, JobName: i.Name, StartTime: event.FormatTime(i.Started), Status: i.Status, EndTime: endStamp(i.Ended),
		WorkingDirectory: i.Directory, UserInput: secret.Mask(i.Input), Error: i.Error, Continues: i.Continues,
	}
}

// DescribeJob returns a job with its works.
func DescribeJob(i jobs.JobInfo) JobDescription {
	tasks := wire.List(i.Works, func(w jobs.Progress) JobWork { return JobWork{w.Work, w.Task, w.Name, w.Status, w.Rounds, w.Reason} })
	return JobDescription{JobSummary: summarizeJob(i), Sessions: i.Sessions, Reason: i.Reason, Tasks: tasks}
}

// endStamp returns "" for the zero time.
func endStamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return event.FormatTime(t)
}

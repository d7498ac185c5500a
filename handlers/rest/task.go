package rest

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs"
)

func (a *API) taskRoutes(r gin.IRoutes) {
	find := a.options.Jobs.Task
	r.GET("/copilot/task", reply(a.tasks))
	r.POST("/copilot/task/start/:name/session/:session", reply(a.startTask))
	r.GET("/copilot/task/:id/status", replyFor(find, taskStatus))
	r.GET("/copilot/task/:id/stop", replyFor(find, stopTask))
	r.POST("/copilot/task/:id/stop", replyFor(find, stopTask))
	r.GET("/copilot/task/:id/live", replyFor(find, a.liveTask))
	r.GET("/copilot/task/:id/live/:token", replyFor(find, a.liveTask))
}

// tasks lists the tasks of the book.
func (a *API) tasks(*gin.Context) (any, error) {
	if a.options.BookFault != nil {
		return nil, a.options.BookFault
	}
	tasks := a.options.Jobs.Book().Tasks
	list := wire.List(slices.Sorted(maps.Keys(tasks)), func(name string) gin.H { return gin.H{"name": name, "requireUserInput": tasks[name].RequireUserInput} })
	return gin.H{"tasks": list}, nil
}

// startTask starts a task in a session; the body is the user input.
func (a *API) startTask(c *gin.Context) (any, error) {
	input, err := body(c, maxPrompt)
	if err = cmp.Or(err, a.options.BookFault); err != nil {
		return nil, err
	}
	t, err := a.options.Jobs.StartTask(c.Request.Context(), jobs.TaskRequest{
		Name: wire.Param(c, "name"), Session: wire.Param(c, "session"), Input: userInput(string(input)),
	})
	if err != nil {
		return nil, a.notStarted(err, jobs.ErrTaskNotFound)
	}
	return gin.H{"taskId": t.ID()}, nil
}

// userInput returns a text without the line break that tools append, and "" for
// whitespace.
func userInput(text string) string {
	if strings.TrimSpace(text) == "" {
		return ""
	}
	return strings.TrimRight(text, "\r\n")
}

// notStarted returns why nothing was started: notFound for what the book lacks, or the fault of the book itself.
func (a *API) notStarted(err, notFound error) error {
	switch {
	case !errors.Is(err, jobs.ErrNotInBook):
		return err
	case a.options.BookFault != nil:
		return a.options.BookFault
	}
	return notFound
}

func stopTask(c *gin.Context, t *jobs.Task) (any, error) {
	return gin.H{"result": "Closed"}, t.Cancel(c.Request.Context())
}

// liveTask serves both forms of live.
func (a *API) liveTask(c *gin.Context, t *jobs.Task) (any, error) {
	r := reader{marks: &a.jobMarks, id: t.ID(), token: wire.Param(c, "token"), closed: taskClosed, afterClosed: taskNotFound}
	return poll(c, r, jobSource{t})
}

// taskInfo is a task with its sessions.
type taskInfo struct {
	TaskID      string        `json:"taskId"`
	TaskName    string        `json:"taskName"`
	JobID       string        `json:"jobId,omitempty"`
	WorkIDInJob int           `json:"workIdInJob,omitempty"`
	StartTime   string        `json:"startTime"`
	EndTime     string        `json:"endTime,omitempty"`
	Status      jobs.Status   `json:"status"`
	Reason      string        `json:"reason,omitempty"` // the last decision
	Error       string        `json:"error,omitempty"`
	Sessions    []taskSession `json:"sessions"`
}

type taskSession struct {
	SessionID string      `json:"sessionId"`
	IsDriving bool        `json:"isDriving"`
	Status    jobs.Status `json:"status"`
}

func taskStatus(_ *gin.Context, t *jobs.Task) (any, error) {
	i := t.Info()
	return taskInfo{
		TaskID: i.ID, TaskName: i.Name, JobID: i.Job, WorkIDInJob: i.Work,
		StartTime: event.FormatTime(i.Started), EndTime: event.FormatTime(i.Ended), Status: i.Status, Reason: i.Reason, Error: i.Error,
		Sessions: wire.List(i.Sessions, func(s jobs.TaskSession) taskSession { return taskSession{s.ID, s.Driving, s.Status} }),
	}, nil
}

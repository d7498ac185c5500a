package rest

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs"
)

func (a *API) taskRoutes(r gin.IRoutes) {
	r.GET("/copilot/task", a.tasks)
	r.POST("/copilot/task/start/:name/session/:session", a.startTask)
	r.GET("/copilot/task/:id/status", a.taskStatus)
	r.GET("/copilot/task/:id/stop", a.stopTask)
	r.POST("/copilot/task/:id/stop", a.stopTask)
	r.GET("/copilot/task/:id/live", a.liveTask)
	r.GET("/copilot/task/:id/live/:token", a.liveTask)
}

// tasks lists the tasks of the book.
func (a *API) tasks(c *gin.Context) {
	if a.options.BookFault != nil {
		fail(c, a.options.BookFault)
		return
	}
	tasks := a.options.Jobs.Book().Tasks
	list := wire.List(slices.Sorted(maps.Keys(tasks)), func(name string) gin.H { return gin.H{"name": name, "requireUserInput": tasks[name].RequireUserInput} })
	c.JSON(http.StatusOK, gin.H{"tasks": list})
}

// startTask starts a task in a session; the body is the user input.
func (a *API) startTask(c *gin.Context) {
	input, err := body(c, maxPrompt)
	if err == nil {
		err = a.options.BookFault
	}
	if err != nil {
		fail(c, err)
		return
	}
	t, err := a.options.Jobs.StartTask(c.Request.Context(), jobs.TaskRequest{
		Name: wire.Param(c, "name"), Session: wire.Param(c, "session"), Input: userInput(string(input)),
	})
	if err != nil {
		fail(c, a.notStarted(err, jobs.ErrTaskNotFound))
		return
	}
	c.JSON(http.StatusOK, gin.H{"taskId": t.ID()})
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

// withTask calls do with the task of the path, or answers that there is none.
func (a *API) withTask(c *gin.Context, do func(*jobs.Task)) {
	t, err := a.options.Jobs.Task(c.Request.Context(), wire.Param(c, "id"))
	if err != nil {
		fail(c, err)
		return
	}
	do(t)
}

func (a *API) stopTask(c *gin.Context) {
	a.withTask(c, func(t *jobs.Task) { stopped(c, t.Cancel(c.Request.Context())) })
}

func stopped(c *gin.Context, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"result": "Closed"})
}

// liveTask serves both forms of live.
func (a *API) liveTask(c *gin.Context) {
	a.withTask(c, func(t *jobs.Task) {
		r := reader{marks: &a.jobMarks, id: t.ID(), token: wire.Param(c, "token"), closed: taskClosed, afterClosed: taskNotFound}
		poll(c, r, jobSource{t})
	})
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

func (a *API) taskStatus(c *gin.Context) {
	a.withTask(c, func(t *jobs.Task) {
		i := t.Info()
		info := taskInfo{
			TaskID: i.ID, TaskName: i.Name, JobID: i.Job, WorkIDInJob: i.Work,
			StartTime: event.FormatTime(i.Started), EndTime: endStamp(i.Ended), Status: i.Status, Reason: i.Reason, Error: i.Error, Sessions: []taskSession{},
		}
		for _, s := range i.Sessions {
			info.Sessions = append(info.Sessions, taskSession{s.ID, s.Driving, s.Status})
		}
		c.JSON(http.StatusOK, info)
	})
}

package rest

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs"
)

// Error names of spec/contracts/portal-rest.md and spec/contracts/portal-rest.notes.md.
const (
	sessionNotFound   = "SessionNotFound"
	sessionClosed     = "SessionClosed"
	pollTimeout       = "HttpRequestTimeout"
	parallelCall      = "ParallelCallNotSupported"
	modelNotFound     = "ModelIdNotFound"
	dirNotAbsolute    = "WorkingDirectoryNotAbsolutePath"
	dirNotFound       = "WorkingDirectoryNotExists"
	questionNotFound  = "QuestionNotFound"
	alreadyAnswered   = "AlreadyAnswered"
	sessionAlreadyRun = "SessionAlreadyOpen"
	taskNotFound      = "TaskNotFound"
	taskClosed        = "TaskClosed"
	taskCannotClose   = "TaskCannotClose"
	jobNotFound       = "JobNotFound"
	jobClosed         = "JobClosed"
)

// fail sends an error: one with a name above with
// status 200, any other with its text and the status of its kind.
func fail(c *gin.Context, err error) {
	if name := errorName(err); name != "" {
		c.JSON(http.StatusOK, gin.H{"error": name})
		return
	}
	var known *fault.Error
	if errors.As(err, &known) {
		c.JSON(status(known.Kind), gin.H{"error": known.Text})
		return
	}
	_ = c.Error(err) // internal errors are logged, not shown
	c.JSON(status(fault.KindOf(err)), gin.H{"error": "internal error; see the portal's log"})
}

func errorName(err error) string {
	for _, entry := range []struct {
		err  error
		name string
	}{
		{fault.ErrSessionNotFound, sessionNotFound},
		{fault.ErrSessionClosed, sessionNotFound},
		{fault.ErrSessionOpen, sessionAlreadyRun},
		{fault.ErrModelNotFound, modelNotFound},
		{fault.ErrDirectoryNotAbsolute, dirNotAbsolute},
		{fault.ErrDirectoryNotFound, dirNotFound},
		{fault.ErrQuestionNotFound, questionNotFound},
		{fault.ErrAlreadyAnswered, alreadyAnswered},
		{jobs.ErrTaskNotFound, taskNotFound},
		{jobs.ErrTaskClosed, taskClosed},
		{jobs.ErrTaskOfJob, taskCannotClose},
		{jobs.ErrJobNotFound, jobNotFound},
		{jobs.ErrJobClosed, jobClosed},
	} {
		if errors.Is(err, entry.err) {
			return entry.name
		}
	}
	return ""
}

func status(k fault.Kind) int {
	switch k {
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Busy:
		return http.StatusConflict
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Denied:
		return http.StatusForbidden
	case fault.Unavailable, fault.Unauthenticated:
		return http.StatusServiceUnavailable
	case fault.Timeout:
		return http.StatusGatewayTimeout
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

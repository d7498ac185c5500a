package rest

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/jobs"
)

// The words for errors in spec/contracts/portal-rest.md and spec/contracts/portal-rest.notes.md.
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

// fail answers with an error: those that have a word above with
// status 200, the others with their text and the status of their kind.
func fail(c *gin.Context, err error) {
	if word := word(err); word != "" {
		c.JSON(http.StatusOK, gin.H{"error": word})
		return
	}
	var known *copilot.Error
	if errors.As(err, &known) {
		c.JSON(status(known.Kind), gin.H{"error": known.Text})
		return
	}
	_ = c.Error(err) // for the log: internals are not shown
	c.JSON(status(copilot.KindOf(err)), gin.H{"error": "internal error; the portal's log says more"})
}

func word(err error) string {
	for _, entry := range []struct {
		err  error
		word string
	}{
		{copilot.ErrSessionNotFound, sessionNotFound},
		{copilot.ErrSessionClosed, sessionNotFound},
		{copilot.ErrSessionOpen, sessionAlreadyRun},
		{copilot.ErrModelNotFound, modelNotFound},
		{copilot.ErrDirectoryNotAbsolute, dirNotAbsolute},
		{copilot.ErrDirectoryNotFound, dirNotFound},
		{copilot.ErrQuestionNotFound, questionNotFound},
		{copilot.ErrAlreadyAnswered, alreadyAnswered},
		{jobs.ErrTaskNotFound, taskNotFound},
		{jobs.ErrTaskClosed, taskClosed},
		{jobs.ErrTaskOfJob, taskCannotClose},
		{jobs.ErrJobNotFound, jobNotFound},
		{jobs.ErrJobClosed, jobClosed},
	} {
		if errors.Is(err, entry.err) {
			return entry.word
		}
	}
	return ""
}

func status(k copilot.Kind) int {
	switch k {
	case copilot.NotFound:
		return http.StatusNotFound
	case copilot.Busy:
		return http.StatusConflict
	case copilot.Invalid:
		return http.StatusBadRequest
	case copilot.Denied:
		return http.StatusForbidden
	case copilot.Unavailable, copilot.Unauthenticated:
		return http.StatusServiceUnavailable
	case copilot.Timeout:
		return http.StatusGatewayTimeout
	case copilot.Internal:
	}
	return http.StatusInternalServerError
}

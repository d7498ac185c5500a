package rest

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/fault"
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
	if word := errorWord(err); word != "" {
		c.JSON(http.StatusOK, gin.H{"error": word})
		return
	}
	var known *fault.Error
	if errors.As(err, &known) {
		c.JSON(status(known.Kind), gin.H{"error": known.Text})
		return
	}
	_ = c.Error(err) // for the log: internals are not shown
	c.JSON(status(fault.KindOf(err)), gin.H{"error": "internal error; see the portal's log"})
}

func errorWord(err error) string {
	for _, entry := range []struct {
		err  error
		word string
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
			return entry.word
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

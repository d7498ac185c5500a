package ws

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot"
)

// The largest bodies that are read, in bytes. A document has at most 1 MB, which JSON may write six times as long.
const (
	maxVerification = 64 << 10
	maxStart        = 8 << 20
)

// bodyTimeout is for the whole body: a client that trickles must not hold a connection for ever.
const bodyTimeout = time.Minute

const (
	strangerText = "a session id is needed, or one that is good: POST /auth/verify gives one"
	internalText = "internal error; the portal's log says more"
)

// read decodes a body, which may be empty.
func read(c *gin.Context, limit int64, into any) error {
	control := http.NewResponseController(c.Writer)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // not every test's writer can
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	_ = control.SetReadDeadline(time.Time{})
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return copilot.Errorf(copilot.Invalid, "the body is larger than %d bytes", limit)
	case err != nil:
		return copilot.Errorf(copilot.Invalid, "the body could not be read: %w", err)
	case len(body) == 0:
		return nil
	}
	if err := json.Unmarshal(body, into); err != nil {
		return copilot.Errorf(copilot.Invalid, "the body is not what is expected here: %w", err)
	}
	return nil
}

func answer(c *gin.Context, status int, body any) {
	c.Header("Cache-Control", "no-store")
	c.JSON(status, body)
}

// answerError answers with an error as the contract has it.
func answerError(c *gin.Context, status int, code, text string) {
	if status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", "Bearer")
	}
	answer(c, status, gin.H{
		"error":     gin.H{"code": code, "message": text, "details": []string{}, "request_id": uuid.NewString()},
		"timestamp": stamp(time.Now()),
	})
}

// fail answers with an error. What is not for clients is for the log.
func (a *API) fail(c *gin.Context, err error) {
	f := failureOf(err)
	if f.status == http.StatusInternalServerError {
		_ = c.Error(err)
	}
	answerError(c, f.status, f.code, f.text)
}

// failure is an error in the words of this dialect.
type failure struct {
	status     int
	code, text string
}

func failureOf(err error) failure {
	if errors.Is(err, errStranger) {
		return failure{http.StatusUnauthorized, "INVALID_SESSION", strangerText}
	}
	if errors.Is(err, errTooMany) {
		return failure{http.StatusTooManyRequests, "TOO_MANY", err.Error()}
	}
	f := failure{text: internalText}
	var known *copilot.Error
	if errors.As(err, &known) {
		f.text = known.Text
	}
	f.status, f.code = statusOf(copilot.KindOf(err))
	return f
}

func statusOf(k copilot.Kind) (status int, code string) {
	switch k {
	case copilot.NotFound:
		return http.StatusNotFound, "NOT_FOUND"
	case copilot.Busy:
		return http.StatusConflict, "ALREADY_RUNNING"
	case copilot.Invalid:
		return http.StatusBadRequest, "INVALID_REQUEST"
	case copilot.Denied:
		return http.StatusForbidden, "DENIED"
	case copilot.Unavailable, copilot.Unauthenticated, copilot.Timeout:
		return http.StatusServiceUnavailable, "UNAVAILABLE"
	case copilot.Internal:
	}
	return http.StatusInternalServerError, "INTERNAL"
}

// seconds rounds up.
func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

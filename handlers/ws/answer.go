package ws

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/socket"
)

// Largest request bodies, in bytes. A document has at most 1 MB, and JSON escapes can make that six times longer.
const (
	maxVerification = 64 << 10
	maxStart        = 8 << 20
)

const (
	unauthorizedText = "a valid session id is required: POST /auth/verify returns one"
	internalText     = "internal error; see the portal's log"
)

// read decodes a body, which may be empty. The server limits the time this takes.
func read(c *gin.Context, limit int64, into any) error {
	body, err := io.ReadAll(jsonrpc.LimitBody(c.Writer, c.Request, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return fault.Errorf(fault.Invalid, "the body is larger than %d bytes", limit)
	case err != nil:
		return fault.Errorf(fault.Invalid, "the body could not be read: %w", err)
	case len(body) == 0:
		return nil
	}
	return decode(body, into)
}

func answer(c *gin.Context, status int, body any) {
	c.Header("Cache-Control", "no-store")
	c.JSON(status, body)
}

// answerError sends an error in the form of spec/contracts/websocket.notes.md, "Where operations come from".
func answerError(c *gin.Context, status int, code, text string) {
	if status == http.StatusUnauthorized {
		c.Header("WWW-Authenticate", "Bearer")
		c.Header("Connection", "close") // do not keep unauthorized connections open
	}
	answer(c, status, errorBody(code, text))
}

func errorBody(code, text string) gin.H {
	return gin.H{
		"error":     gin.H{"code": code, "message": text, "details": []string{}, "request_id": uuid.NewString()},
		"timestamp": event.FormatTime(time.Now()),
	}
}

// refusal returns the error body for a status, as [socket.Options] needs it.
func refusal(status int, text string) []byte {
	body, _ := json.Marshal(errorBody(codeOf(status), text)) // cannot fail
	return body
}

// Refuse rejects a request to one of the dialect's paths that matches no route or is not allowed. The error has the form of
// spec/contracts/websocket.notes.md, "Where operations come from". A client that offers [Subprotocol] on a WebSocket path
// gets close code 4000 + status instead, which pages can read.
func (a *API) Refuse(c *gin.Context, status int, text string) {
	isSocket := c.Request.Method == http.MethodGet && strings.HasSuffix(c.Request.URL.Path, "/ws")
	if isSocket && socket.Offers(c.Request, Subprotocol) {
		a.close(c, status, text)
	} else {
		answerError(c, status, codeOf(status), text)
	}
	c.Abort()
}

// fail sends an error. Internal errors are logged, and the client gets a general text.
func (a *API) fail(c *gin.Context, err error) {
	f := failureOf(err)
	if f.status == http.StatusInternalServerError {
		_ = c.Error(err)
	}
	var guess guessError
	if errors.As(err, &guess) {
		c.Header("Retry-After", seconds(guess.wait))
		c.Header("Connection", "close")
	}
	answerError(c, f.status, f.code, f.text)
}

// failure is an error in this dialect's codes.
type failure struct {
	status     int
	code, text string
}

func failureOf(err error) failure {
	if errors.Is(err, errUnauthorized) {
		return failure{http.StatusUnauthorized, "INVALID_SESSION", unauthorizedText}
	}
	if errors.Is(err, fault.ErrAlreadyAnswered) {
		return failure{http.StatusConflict, "ALREADY_ANSWERED", err.Error()}
	}
	if errors.Is(err, errTooMany) {
		return failure{http.StatusTooManyRequests, "TOO_MANY", err.Error()}
	}
	f := failure{text: internalText}
	var known *fault.Error
	if errors.As(err, &known) {
		f.text = known.Text
	}
	f.status = statusOf(fault.KindOf(err))
	f.code = codeOf(f.status)
	return f
}

func statusOf(k fault.Kind) int {
	switch k {
	case fault.NotFound:
		return http.StatusNotFound
	case fault.Busy:
		return http.StatusConflict
	case fault.Invalid:
		return http.StatusBadRequest
	case fault.Denied:
		return http.StatusForbidden
	case fault.Unavailable, fault.Unauthenticated, fault.Timeout:
		return http.StatusServiceUnavailable
	case fault.Internal:
	}
	return http.StatusInternalServerError
}

// codeOf returns the error code for a status.
func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "INVALID_SESSION"
	case http.StatusForbidden:
		return "DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusMethodNotAllowed:
		return "METHOD_NOT_ALLOWED"
	case http.StatusConflict:
		return "ALREADY_RUNNING"
	case http.StatusUpgradeRequired:
		return "UPGRADE_REQUIRED"
	case http.StatusTooManyRequests:
		return "TOO_MANY"
	case http.StatusServiceUnavailable:
		return "UNAVAILABLE"
	}
	if status < http.StatusInternalServerError {
		return "INVALID_REQUEST"
	}
	return "INTERNAL"
}

// seconds returns whole seconds, rounded up.
func seconds(d time.Duration) string { return strconv.Itoa(int((d + time.Second - 1) / time.Second)) }

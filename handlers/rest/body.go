package rest

import (
	"errors"
	"io"
	"net/http"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// Largest request bodies, in bytes.
const (
	maxStart  = 64 << 10
	maxPrompt = 32 << 20
	maxAnswer = 1 << 20
	maxTitle  = 64 << 10
	maxUpdate = 64 << 10
)

// body reads a text of at most limit bytes. The server limits the time this takes.
func body(c *gin.Context, limit int64) ([]byte, error) {
	b, err := io.ReadAll(jsonrpc.LimitBody(c.Writer, c.Request, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, fault.Errorf(fault.Invalid, "the body is larger than %d bytes", limit)
	case err != nil:
		return nil, fault.Errorf(fault.Invalid, "the body could not be read: %w", err)
	case !utf8.Valid(b):
		return nil, fault.Errorf(fault.Invalid, "the body is not valid UTF-8")
	}
	return b, nil
}

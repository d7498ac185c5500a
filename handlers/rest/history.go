package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/export"
)

// Limits of one page of history: default and maximum number of entries,
// and approximate maximum size in bytes.
const (
	historyEvents = 500
	historyLimit  = 5000
	historyBytes  = 8 << 20
)

// history returns a page of the record as it is now, without waiting.
func history(c *gin.Context, s *copilot.Session) (any, error) {
	after, err := number(c, "after", 64)
	if err != nil {
		return nil, err
	}
	limit, err := number(c, "limit", 64)
	if err != nil {
		return nil, err
	}
	if limit == 0 {
		limit = historyEvents
	}
	page, err := export.Page(c.Request.Context(), s.Record(), after, int(min(limit, historyLimit)), historyBytes)
	if err != nil {
		return nil, err
	}
	c.Data(http.StatusOK, "application/json; charset=utf-8", page)
	return written{}, nil
}

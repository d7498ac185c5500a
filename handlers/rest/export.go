package rest

import (
	"fmt"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/export"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
)

// exportSession writes the current record of a session, for people or programs.
func exportSession(c *gin.Context, s *copilot.Session) (any, error) {
	write, kind, suffix := export.Markdown, "text/markdown", "md"
	switch format := c.DefaultQuery("format", "markdown"); format {
	case "markdown":
	case "jsonl":
		write, kind, suffix = export.JSONL, "application/x-ndjson", "jsonl"
	default:
		return nil, fault.Errorf(fault.Invalid, "format=%q: use markdown or jsonl", format)
	}
	c.Header("Content-Type", kind+"; charset=utf-8")
	c.Header("Content-Disposition", fmt.Sprintf(`attachment; filename="session-%s.%s"`, s.ID(), suffix))
	err := write(c.Writer, s.Info(), follow.Snapshot(c.Request.Context(), s.Record()))
	switch {
	case err == nil:
	case c.Request.Context().Err() != nil:
		_ = c.Error(err) // the client has disconnected
	case c.Writer.Written():
		panic(err) // aborts the response: half a session must not look complete
	default:
		c.Header("Content-Type", "")
		c.Header("Content-Disposition", "")
		return nil, err
	}
	return written{}, nil
}

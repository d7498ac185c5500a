package rest

import (
	"context"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/handlers/wire"
)

// handler returns the answer to a call, which is sent as JSON; nil stands for {}.
type handler func(*gin.Context) (answer any, err error)

// written is the answer of a handler that has written it itself.
type written struct{}

// reply makes a route of a handler.
func reply(h handler) gin.HandlerFunc {
	return func(c *gin.Context) {
		answer, err := h(c)
		switch {
		case err != nil:
			fail(c, err)
		case answer == nil:
			c.JSON(http.StatusOK, gin.H{})
		case answer != written{}:
			c.JSON(http.StatusOK, answer)
		}
	}
}

// replyFor makes a route of a handler of what the path names: a session, a job or a task.
func replyFor[T any](find func(ctx context.Context, id string) (T, error), h func(*gin.Context, T) (any, error)) gin.HandlerFunc {
	return reply(func(c *gin.Context) (any, error) {
		of, err := find(c.Request.Context(), wire.Param(c, "id"))
		if err != nil {
			return nil, err
		}
		return h(c, of)
	})
}

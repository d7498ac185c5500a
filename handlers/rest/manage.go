package rest

import (
	"encoding/json"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/wire"
)

// remove deletes a session with its record.
func (a *API) remove(c *gin.Context) (any, error) {
	id := wire.Param(c, "id")
	err := a.options.Host.Delete(c.Request.Context(), id)
	if _, here := a.options.Host.Loaded(id); !here { // also if the agent's copy remains
		a.bookmarks.drop(id)
	}
	return nil, err
}

// rename sets the title of a session to the body.
func rename(c *gin.Context, s *copilot.Session) (any, error) {
	title, err := body(c, maxTitle)
	if err != nil {
		return nil, err
	}
	return nil, s.Rename(c.Request.Context(), string(title))
}

// update pins or archives a session, as the body says.
func update(c *gin.Context, s *copilot.Session) (any, error) {
	text, err := body(c, maxUpdate)
	if err != nil {
		return nil, err
	}
	var p struct {
		Pinned   *bool `json:"pinned"`
		Archived *bool `json:"archived"`
	}
	if err := json.Unmarshal(text, &p); err != nil || p.Pinned == nil && p.Archived == nil {
		return nil, fault.Errorf(fault.Invalid, `the body must be {"pinned": true or false, "archived": true or false}, with at least one of them`)
	}
	return nil, s.Place(c.Request.Context(), copilot.Placement{Pinned: p.Pinned, Archived: p.Archived})
}

// fork creates a session that continues from another one's current state, or from where a run ended or started.
func (a *API) fork(c *gin.Context) (any, error) {
	cut := copilot.Cut{After: c.Query("after"), Before: c.Query("before")}
	s, err := a.options.Host.Fork(c.Request.Context(), wire.Param(c, "id"), cut)
	if err != nil {
		return nil, err
	}
	return gin.H{"sessionId": s.ID()}, nil
}

// resend sends the prompt of a run again, in a fork. The body replaces its text.
func (a *API) resend(c *gin.Context) (any, error) {
	text, err := body(c, maxPrompt)
	if err != nil {
		return nil, err
	}
	r := copilot.Resend{Text: string(text), Model: c.Query("model"), By: Origin}
	s, run, err := a.options.Host.Resend(c.Request.Context(), wire.Param(c, "id"), wire.Param(c, "run"), r)
	if err != nil {
		return nil, err
	}
	return gin.H{"sessionId": s.ID(), "run": run}, nil
}

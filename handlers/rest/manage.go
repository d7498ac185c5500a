package rest

import (
	"encoding/json"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/wire"
)

// remove deletes a session with its record.
func (a *API) remove(c *gin.Context) {
	id := wire.Param(c, "id")
	err := a.options.Host.Delete(c.Request.Context(), id)
	if _, here := a.options.Host.Loaded(id); !here { // also if the agent's copy remains
		a.bookmarks.drop(id)
	}
	reply(c, err)
}

// rename sets the title of a session to the body.
func (a *API) rename(c *gin.Context) {
	a.withSession(c, func(s *copilot.Session) {
		title, err := body(c, maxTitle)
		if err != nil {
			fail(c, err)
			return
		}
		reply(c, s.Rename(c.Request.Context(), string(title)))
	})
}

// update pins or archives a session, as the body says.
func (a *API) update(c *gin.Context) {
	a.withSession(c, func(s *copilot.Session) {
		text, err := body(c, maxUpdate)
		if err != nil {
			fail(c, err)
			return
		}
		var p struct {
			Pinned   *bool `json:"pinned"`
			Archived *bool `json:"archived"`
		}
		if err := json.Unmarshal(text, &p); err != nil || p.Pinned == nil && p.Archived == nil {
			fail(c, fault.Errorf(fault.Invalid, `the body must be {"pinned": true or false, "archived": true or false}, with at least one of them`))
			return
		}
		reply(c, s.Place(c.Request.Context(), copilot.Placement{Pinned: p.Pinned, Archived: p.Archived}))
	})
}

// fork creates a session that continues from another one's current state, or from where a run ended or started.
func (a *API) fork(c *gin.Context) {
	cut := copilot.Cut{After: c.Query("after"), Before: c.Query("before")}
	s, err := a.options.Host.Fork(c.Request.Context(), wire.Param(c, "id"), cut)
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"sessionId": s.ID()})
}

// resend sends the prompt of a run again, in a fork. The body replaces its text.
func (a *API) resend(c *gin.Context) {
	text, err := body(c, maxPrompt)
	if err != nil {
		fail(c, err)
		return
	}
	r := copilot.Resend{Text: string(text), Model: c.Query("model"), By: Origin}
	s, run, err := a.options.Host.Resend(c.Request.Context(), wire.Param(c, "id"), wire.Param(c, "run"), r)
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"sessionId": s.ID(), "run": run})
}

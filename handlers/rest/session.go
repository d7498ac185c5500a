package rest

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
)

// Origin names this dialect in sessions and answers.
const Origin = "rest"

// start opens a session: the model in the path, the directory as the body.
func (a *API) start(c *gin.Context) {
	directory, err := body(c, maxDirectory)
	if err != nil {
		fail(c, err)
		return
	}
	start := copilot.Start{
		Origin:    Origin,
		Model:     strings.TrimPrefix(param(c, "model"), "/"),
		Directory: strings.TrimSpace(string(directory)),
	}
	if start.Directory == "" {
		start.Directory = repoRoot(a.options.WorkDir)
	}
	if start.Policy, start.AskUser, err = a.permissions(c); err != nil {
		fail(c, err)
		return
	}
	s, err := a.options.Host.Start(c.Request.Context(), start)
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{"sessionId": s.ID()})
}

// permissions reads the query parameters of start. A client that says `ask` can
// answer, so the agent may ask it other things as well; `interactive` says so
// apart from the permissions.
func (a *API) permissions(c *gin.Context) (copilot.Policy, bool, error) {
	policy, interactive := a.options.Policy, false
	if text := c.Query("permissions"); text != "" {
		d, err := copilot.ParseDecision(text)
		if err != nil {
			return nil, false, err
		}
		policy, interactive = copilot.Everywhere(d), d == copilot.Ask
	}
	if text := c.Query("interactive"); text != "" {
		yes, err := strconv.ParseBool(text)
		if err != nil {
			return nil, false, copilot.Errorf(copilot.Invalid, "interactive=%q: use true or false", text)
		}
		interactive = yes
	}
	return policy, interactive, nil
}

// list is every session that is known, the newest first.
func (a *API) list(c *gin.Context) {
	infos := a.options.Host.Sessions()
	list := make([]gin.H, 0, len(infos))
	for _, i := range infos {
		list = append(list, gin.H{
			"sessionId": i.ID, "title": i.Title, "model": i.Model, "workingDirectory": i.Directory,
			"state": i.State, "origin": i.Origin, "createdAt": i.Created.UTC().Format(time.RFC3339Nano),
		})
	}
	c.JSON(http.StatusOK, gin.H{"sessions": list})
}

// with finds the session of the path, or answers that there is none.
func (a *API) with(c *gin.Context, do func(*copilot.Session)) {
	s, err := a.options.Host.Session(param(c, "id"))
	if err != nil {
		fail(c, err)
		return
	}
	do(s)
}

func (a *API) query(c *gin.Context) {
	a.with(c, func(s *copilot.Session) {
		prompt, err := body(c, maxPrompt)
		if err != nil {
			fail(c, err)
			return
		}
		if _, err := s.Prompt(copilot.Prompt{Text: string(prompt)}); err != nil {
			fail(c, err)
			return
		}
		c.JSON(http.StatusOK, gin.H{})
	})
}

func (a *API) cancel(c *gin.Context) {
	a.with(c, func(s *copilot.Session) { reply(c, s.Cancel()) })
}

func (a *API) resume(c *gin.Context) {
	a.with(c, func(s *copilot.Session) { reply(c, s.Reopen(c.Request.Context())) })
}

func reply(c *gin.Context, err error) {
	if err != nil {
		fail(c, err)
		return
	}
	c.JSON(http.StatusOK, gin.H{})
}

// stopSession closes a session; a closed one is not found, as for every other call.
func (a *API) stopSession(c *gin.Context) {
	a.with(c, func(s *copilot.Session) {
		if s.Info().State == copilot.StateClosed {
			fail(c, copilot.ErrSessionClosed)
			return
		}
		s.Close()
		c.JSON(http.StatusOK, gin.H{"result": "Closed"})
	})
}

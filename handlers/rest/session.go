package rest

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/extension"
	"github.com/copilot-portal/portal/handlers/wire"
)

// Origin identifies this dialect in sessions and answers.
const Origin = "rest"

// startBody is the body of start if it is JSON.
type startBody struct {
	Directory string             `json:"workingDirectory"`
	Servers   []extension.Server `json:"mcpServers"` // of this session
}

// newStartBody reads the body of start: JSON, or only the directory, which never begins with a brace.
func newStartBody(c *gin.Context) (b startBody, err error) {
	text, err := body(c, maxStart)
	if err != nil {
		return b, err
	}
	if b.Directory = strings.TrimSpace(string(text)); !strings.HasPrefix(b.Directory, "{") {
		return b, nil
	}
	b.Directory = ""
	if err := json.Unmarshal(text, &b); err != nil {
		return b, fault.Errorf(fault.Invalid, `the body must be a directory, or {"workingDirectory": …, "mcpServers": […]}: %w`, err)
	}
	return b, nil
}

// start opens a session: the model is in the path, the directory in the body.
func (a *API) start(c *gin.Context) (any, error) {
	b, err := newStartBody(c)
	if err != nil {
		return nil, err
	}
	start := copilot.Start{
		Origin:    Origin,
		Model:     strings.TrimPrefix(wire.Param(c, "model"), "/"),
		Directory: b.Directory,
		Servers:   extension.Configs(b.Servers),
	}
	if start.Directory == "" {
		start.Directory = copilot.ProjectOf(a.options.WorkDir)
	}
	if start.Policy, start.AskUser, err = a.permissions(c); err != nil {
		return nil, err
	}
	s, err := a.options.Host.Start(c.Request.Context(), start)
	if err != nil {
		return nil, err
	}
	return gin.H{"sessionId": s.ID()}, nil
}

// permissions reads the query parameters of start. A client that asks for `ask` can
// answer, so the agent may ask it other questions, too; `interactive` controls
// this independently of the permissions.
func (a *API) permissions(c *gin.Context) (permission.Policy, bool, error) {
	policy, interactive := a.options.Policy, false
	if text := c.Query("permissions"); text != "" {
		d, err := permission.ParseDecision(text)
		if err != nil {
			return nil, false, err
		}
		policy, interactive = permission.Everywhere(d), d == permission.Ask
	}
	interactive, err := boolean(c, "interactive", interactive)
	return policy, interactive, err
}

// boolean reads a query parameter that is true or false.
func boolean(c *gin.Context, name string, fallback bool) (bool, error) {
	text := c.Query(name)
	if text == "" {
		return fallback, nil
	}
	value, err := strconv.ParseBool(text)
	if err != nil {
		return false, fault.Errorf(fault.Invalid, "%s=%q: use true or false", name, text)
	}
	return value, nil
}

func query(c *gin.Context, s *copilot.Session) (any, error) {
	p, err := prompt(c)
	if err != nil {
		return nil, err
	}
	_, err = s.Prompt(p)
	return nil, err
}

// prompt reads the body and the query parameters of query.
func prompt(c *gin.Context) (p event.Prompt, err error) {
	if p.Mode, err = event.ParseMode(c.Query("mode")); err != nil {
		return p, err
	}
	if p.Steer, err = boolean(c, "steer", false); err != nil {
		return p, err
	}
	text, err := body(c, maxPrompt)
	p.Text, p.By = string(text), Origin
	return p, err
}

func cancel(_ *gin.Context, s *copilot.Session) (any, error) { return nil, s.Cancel("") }

func resume(c *gin.Context, s *copilot.Session) (any, error) {
	return nil, s.Reopen(c.Request.Context())
}

// stopSession closes a session. A closed one is not found, as in every other call.
func stopSession(_ *gin.Context, s *copilot.Session) (any, error) {
	if s.Info().State == copilot.StateClosed {
		return nil, fault.ErrSessionClosed
	}
	return gin.H{"result": "Closed"}, s.Close()
}

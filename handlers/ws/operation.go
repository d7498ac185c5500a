package ws

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/wire"
	"github.com/copilot-portal/portal/jobs/operation"
)

// request is the body of a request that starts an operation.
type request struct {
	Type      string   `json:"type"`
	Feature   string   `json:"feature"`
	Document  string   `json:"document"`
	Path      string   `json:"path"`
	Prompt    string   `json:"prompt"`
	Model     string   `json:"model"`
	Directory string   `json:"working_directory"`
	Persist   *persist `json:"persist"`
}

type persist struct {
	Path    string `json:"path"`
	Commit  bool   `json:"commit"`
	Message string `json:"message"`
}

func (r request) domain() operation.Request {
	d := operation.Request{
		Type: operation.Type(r.Type), Feature: r.Feature, Document: r.Document, Path: r.Path,
		Prompt: r.Prompt, Model: r.Model, Directory: r.Directory,
	}
	if r.Persist != nil {
		p := operation.Persist(*r.Persist)
		d.Persist = &p
	}
	return d
}

// start is POST /operations.
func (a *API) start(c *gin.Context) {
	var r request
	if err := read(c, maxStart, &r); err != nil {
		a.fail(c, err)
		return
	}
	a.begin(c, r.domain())
}

// startFor is POST /features/{id}/{type}.
func (a *API) startFor(t operation.Type) gin.HandlerFunc {
	return func(c *gin.Context) {
		var r request
		if err := read(c, maxStart, &r); err != nil {
			a.fail(c, err)
			return
		}
		d, feature := r.domain(), wire.Param(c, "id")
		if d.Type != "" && d.Type != t || d.Feature != "" && d.Feature != feature {
			a.fail(c, fault.Errorf(fault.Invalid, "type and feature are those of the path: leave them out of the body"))
			return
		}
		d.Type, d.Feature = t, feature
		a.begin(c, d)
	}
}

func (a *API) begin(c *gin.Context, r operation.Request) {
	r.Client = visitorOf(c).key
	o, err := a.options.Operations.Start(c.Request.Context(), r)
	if err != nil {
		a.fail(c, err)
		return
	}
	id := o.Info().ID
	answer(c, http.StatusAccepted, gin.H{
		"operation_id": id, "status": operation.Running, "message": fmt.Sprintf("%s started", r.Type),
		"websocket_url":              a.address(c.Request, id),
		"estimated_duration_seconds": int(a.options.Operations.Estimate(r.Type).Round(time.Second) / time.Second),
	})
}

// address returns the WebSocket URL of an operation. It omits the session id, because URLs are logged.
func (a *API) address(r *http.Request, id string) string {
	u := url.URL{Scheme: "ws", Host: r.Host, Path: a.options.BasePath + "/ws", RawQuery: url.Values{"operation_id": {id}}.Encode()}
	if r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https") {
		u.Scheme = "wss"
	}
	return u.String()
}

func (a *API) list(c *gin.Context) {
	limit, err := number(c, "limit", 50, 1)
	if err != nil {
		a.fail(c, err)
		return
	}
	all, err := a.options.Operations.List(c.Request.Context(), limit)
	if err != nil {
		a.fail(c, err)
		return
	}
	answer(c, http.StatusOK, gin.H{"operations": wire.List(all, describe)})
}

// number reads a numeric parameter.
func number(c *gin.Context, name string, fallback, minimum int) (int, error) {
	text, given := c.GetQuery(name)
	if !given {
		return fallback, nil
	}
	return integer(name, text, minimum)
}

func integer(name, text string, minimum int) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < minimum {
		return 0, fault.Errorf(fault.Invalid, "%s must be an integer of at least %d", name, minimum)
	}
	return n, nil
}

// description is an operation as clients see it. Lists omit the result.
type description struct {
	ID        string           `json:"operation_id"`
	Type      operation.Type   `json:"type"`
	Feature   string           `json:"feature"`
	Status    operation.Status `json:"status"`
	Progress  int              `json:"progress"`
	Message   string           `json:"message"`
	Created   string           `json:"created_at"`
	Completed *string          `json:"completed_at"`
	Messages  int              `json:"messages"`
	Directory string           `json:"working_directory"`
	Model     string           `json:"model"`
	Session   string           `json:"copilot_session_id"`
	Error     *string          `json:"error"`
}

func describe(i operation.Info) description {
	d := description{
		ID: i.ID, Type: i.Type, Feature: i.Feature, Status: i.Status, Progress: i.Progress, Message: i.Note, Created: event.FormatTime(i.Created),
		Messages: i.Messages, Directory: i.Directory, Model: i.Model, Session: i.Session,
	}
	if !i.Ended.IsZero() {
		ended := event.FormatTime(i.Ended)
		d.Completed = &ended
	}
	if i.Error != "" {
		d.Error = &i.Error
	}
	return d
}

func (a *API) get(c *gin.Context) {
	a.withOperation(c, func(o *operation.Operation) error {
		i := o.Info()
		answer(c, http.StatusOK, struct {
			description

			Result json.RawMessage `json:"result"`
		}{describe(i), i.Result})
		return nil
	})
}

// messages returns the messages recorded so far, without waiting.
func (a *API) messages(c *gin.Context) {
	a.withOperation(c, func(o *operation.Operation) error {
		after, err := number(c, "after", -1, -1)
		if err != nil {
			return err
		}
		status := o.Info().Status // read before the messages, so that a client that sees the end has all messages
		messages, err := o.Present(c.Request.Context(), after)
		if err != nil {
			return err
		}
		frames := make([]json.RawMessage, len(messages))
		for i, m := range messages {
			frames[i] = m.Frame
		}
		answer(c, http.StatusOK, gin.H{"messages": frames, "status": status})
		return nil
	})
}

func (a *API) cancel(c *gin.Context) {
	a.withOperation(c, func(o *operation.Operation) error {
		if err := o.Cancel(c.Request.Context()); err != nil {
			return err
		}
		i := o.Info()
		answer(c, http.StatusOK, gin.H{"operation_id": i.ID, "status": i.Status})
		return nil
	})
}

// withOperation calls do with the operation that the path names.
func (a *API) withOperation(c *gin.Context, do func(*operation.Operation) error) {
	o, err := a.options.Operations.Get(c.Request.Context(), cmp.Or(wire.Param(c, "id"), "-"))
	if err == nil {
		err = do(o)
	}
	if err != nil {
		a.fail(c, err)
	}
}

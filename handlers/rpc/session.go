package rpc

import (
	"cmp"
	"context"
	"net/url"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/extension"
	"github.com/copilot-portal/portal/handlers/wire"
)

type createParams struct {
	Model            string             `json:"model"`
	WorkingDirectory string             `json:"workingDirectory"`
	Permissions      map[string]string  `json:"permissions"`
	CallbackURL      string             `json:"callbackUrl"`
	Tools            *[]tool            `json:"tools"`
	Servers          []extension.Server `json:"mcpServers"`  // of this session
	Interactive      bool               `json:"interactive"` // the client answers questions
}

type created struct {
	SessionID string `json:"sessionId"`
	CreatedAt string `json:"createdAt"`
}

func describeCreated(s *copilot.Session) created {
	return created{s.ID(), event.FormatTime(s.Info().Created)}
}

// create is session.create.
func (a *API) create(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := a.start(ctx, r)
	if err != nil {
		return nil, err
	}
	return describeCreated(s), nil
}

// start starts a session. All params are optional.
func (a *API) start(ctx context.Context, r *jsonrpc.Request) (*copilot.Session, error) {
	var p createParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	start, callback, err := a.describe(p)
	if err != nil {
		return nil, err
	}
	s, err := a.options.Host.Start(ctx, start)
	if err != nil {
		return nil, err
	}
	a.use(s).setRules(p.Permissions, true)
	a.follow(s, callback)
	return s, nil
}

// slack is how much longer the agent waits for a tool than for the plugin, so that it gets the
// reason of a missing result.
const slack = 10 * time.Second

// describe returns the session to start, and its callback address.
func (a *API) describe(p createParams) (start copilot.Start, callback string, err error) {
	start = copilot.Start{Origin: Origin, Model: p.Model, Directory: p.WorkingDirectory, AskUser: true, Servers: extension.Configs(p.Servers)}
	if start.Directory == "" {
		start.Directory = a.options.WorkDir
	}
	if start.Policy, err = policy(p.Permissions, true); err != nil {
		return start, "", err
	}
	callback = cmp.Or(p.CallbackURL, a.options.Callback)
	if callback, err = CallbackAddress(callback, a.options.Remote); err != nil {
		return start, "", err
	}
	if p.CallbackURL != "" {
		start.Attributes, start.Capabilities = map[string]string{attributeCallback: callback}, byCallback()
	}
	if p.Interactive {
		start.Capabilities = byAnswers()
	}
	switch {
	case p.Tools != nil:
		start.Tools = declared(*p.Tools, a.options.Limit+slack)
	case callback != "":
		start.Tools = gitTools(a.options.Limit + slack)
	}
	return start, callback, nil
}

type sessionParams struct {
	SessionID string `json:"sessionId"`
}

// session finds the session that a request names, and records its use.
func (a *API) session(ctx context.Context, id string) (*copilot.Session, error) {
	if err := checkID(id); err != nil {
		return nil, err
	}
	s, err := a.options.Host.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if s.Info().State == copilot.StateClosed {
		return nil, fault.ErrSessionClosed
	}
	a.use(s)
	a.follow(s, "")
	return s, nil
}

// sessionOf is session for requests without other params.
func (a *API) sessionOf(ctx context.Context, r *jsonrpc.Request) (*copilot.Session, error) {
	var p sessionParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	return a.session(ctx, p.SessionID)
}

// checkID reports that the id of a session is missing.
func checkID(id string) error {
	if id == "" {
		return jsonrpc.InvalidParams(`"sessionId" is missing`)
	}
	return nil
}

func (a *API) closeSession(ctx context.Context, p sessionParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	a.uses.drop(s.ID())
	a.delivered.forget(s.ID())
	return map[string]bool{"closed": true}, nil
}

type cancelParams struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId"` // "": the current run
}

func (a *API) cancel(ctx context.Context, p cancelParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string]bool{"cancelled": true}, s.Cancel(p.MessageID)
}

type updateParams struct {
	SessionID string `json:"sessionId"`
	Pinned    *bool  `json:"pinned"`
	Archived  *bool  `json:"archived"`
}

// update is session.update: it pins or archives a session, open or closed. That is no use of it.
func (a *API) update(ctx context.Context, p updateParams) (any, error) {
	if err := checkID(p.SessionID); err != nil {
		return nil, err
	}
	if p.Pinned == nil && p.Archived == nil {
		return nil, jsonrpc.InvalidParams(`"pinned" or "archived" is missing`)
	}
	s, err := a.options.Host.Session(ctx, p.SessionID)
	if err == nil {
		err = s.Place(ctx, copilot.Placement{Pinned: p.Pinned, Archived: p.Archived})
	}
	return map[string]bool{"updated": true}, err
}

type sendParams struct {
	SessionID   string            `json:"sessionId"`
	Prompt      string            `json:"prompt"`
	Context     []snippet         `json:"context"`
	Model       string            `json:"model"`
	Permissions map[string]string `json:"permissions"`
	Mode        string            `json:"mode"`
	CallbackURL string            `json:"callbackUrl"`
}

type sent struct {
	MessageID string `json:"messageId"`
	StreamURL string `json:"streamUrl"`
}

// send gives a prompt to the agent and does not wait for the run.
func (a *API) send(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p sendParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	prompt, err := p.prompt()
	if err != nil {
		return nil, err
	}
	callback, err := CallbackAddress(p.CallbackURL, a.options.Remote)
	if err != nil {
		return nil, err
	}
	if i := s.Info(); callback != "" && i.Owner != 0 { // that process calls its own plugin
		return nil, fault.Errorf(fault.Busy, "%w by process %d, which does not know this callbackUrl: send the prompt there, or without callbackUrl", fault.ErrSessionInUse, i.Owner)
	}
	if err := a.addRules(s, p.Permissions); err != nil {
		return nil, err
	}
	if err := a.setModel(ctx, s, p.Model); err != nil {
		return nil, err
	}
	undo := func() {}
	if callback != "" { // before the prompt, whose run may ask at once
		undo = a.redirect(s, callback)
	}
	run, err := s.Prompt(prompt)
	if err != nil {
		undo()
		return nil, err
	}
	if callback != "" {
		s.SetAttribute(attributeCallback, callback)
		s.AddCapabilities(byCallback())
	}
	return a.sent(s, run), nil
}

func (a *API) sent(s *copilot.Session, run string) sent {
	return sent{run, a.options.BasePath + "/stream/" + url.PathEscape(s.ID())}
}

// prompt returns the prompt. An empty one is refused before it changes anything.
func (p sendParams) prompt() (event.Prompt, error) {
	mode, err := event.ParseMode(p.Mode)
	if err != nil {
		return event.Prompt{}, err
	}
	attached := attachments(p.Context)
	if strings.TrimSpace(p.Prompt) == "" && len(attached) == 0 {
		return event.Prompt{}, fault.ErrEmptyPrompt
	}
	return event.Prompt{Text: p.Prompt, Mode: mode, Attachments: attached, By: Origin}, nil
}

type listParams struct {
	After string `json:"after"`
	Limit int    `json:"limit"`
}

type listed struct {
	Sessions []summary `json:"sessions"`
	Next     string    `json:"next,omitempty"`
}

type summary struct {
	SessionID        string        `json:"sessionId"`
	Title            string        `json:"title"`
	Model            string        `json:"model"`
	WorkingDirectory string        `json:"workingDirectory"`
	State            copilot.State `json:"state"`
	Origin           string        `json:"origin"`
	CreatedAt        string        `json:"createdAt"`
	ChangedAt        string        `json:"changedAt"`
	Outcome          event.Outcome `json:"outcome,omitempty"`
	WaitsFor         string        `json:"waitsFor,omitempty"`
	Pinned           bool          `json:"pinned,omitempty"`
	Archived         bool          `json:"archived,omitempty"`
	ForkedFrom       *forkOrigin   `json:"forkedFrom,omitempty"`
}

type forkOrigin struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"` // at the time of the fork
}

func originOf(f copilot.ForkOrigin) *forkOrigin {
	if f.ID == "" {
		return nil
	}
	return &forkOrigin{f.ID, f.Title}
}

// list returns the sessions of all dialects.
func (a *API) list(ctx context.Context, p listParams) (any, error) {
	infos, next, err := a.options.Host.Sessions(ctx, p.After, p.Limit)
	if err != nil && (p.After != "" || fault.KindOf(err) != fault.Unavailable) {
		return nil, err // the first page has at least those in memory
	}
	return listed{Next: next, Sessions: wire.List(infos, func(i copilot.Info) summary {
		return summary{
			i.ID, i.Title, i.Model, i.Directory, i.State, i.Origin, event.FormatTime(i.Created), event.FormatTime(i.Changed),
			i.Outcome, i.WaitsFor, i.Pinned, i.Archived, originOf(i.ForkOf),
		}
	})}, nil
}

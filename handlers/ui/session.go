package ui

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/plain"
)

// sessionParams are those of portal.session.start. All are optional.
type sessionParams struct {
	Directory   string            `json:"directory"`
	Model       string            `json:"model"`
	Permissions map[string]string `json:"permissions"`
	Tools       *[]tool           `json:"tools"`
}

// startSession is portal.session.start.
func (n *connection) startSession(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p sessionParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	s, err := n.open(ctx, p)
	if err != nil {
		return nil, err
	}
	n.setCurrent(s.ID())
	return map[string]string{"session_id": s.ID()}, nil
}

// open starts a session. The first prompt starts its agent.
func (n *connection) open(ctx context.Context, p sessionParams) (*copilot.Session, error) {
	rules, err := policy(p.Permissions)
	if err != nil {
		return nil, err
	}
	all := maps.Clone(n.policy)
	if all == nil {
		all = permission.Policy{}
	}
	maps.Copy(all, rules)
	n.mu.Lock()
	model, asks := cmp.Or(p.Model, n.model), n.can.Confirm || n.can.Prompt || n.can.Pick || n.can.Forms
	n.mu.Unlock()
	start := copilot.Start{
		Origin: Origin, Model: model, Directory: cmp.Or(p.Directory, n.workspace()), Policy: all, AskUser: asks, WithoutAgent: true,
	}
	if p.Tools != nil {
		start.Tools = declared(*p.Tools)
	}
	s, err := n.host().Start(ctx, start)
	if err != nil {
		return nil, err
	}
	if p.Tools != nil {
		n.api.setToolOwner(s.ID(), n)
	}
	return s, nil
}

// policy decodes permissions.
func policy(permissions map[string]string) (permission.Policy, error) {
	rules, err := permission.ParsePolicy(permissions)
	if err != nil {
		return nil, jsonrpc.InvalidParams("%v", err)
	}
	return rules, nil
}

type oneSession struct {
	SessionID string `json:"session_id"`
}

// sessionID decodes params that name a session.
func sessionID(r *jsonrpc.Request) (string, error) {
	var p oneSession
	if err := r.Decode(&p); err != nil {
		return "", err
	}
	if p.SessionID == "" {
		return "", jsonrpc.InvalidParams(`"session_id" is missing`)
	}
	return p.SessionID, nil
}

// close is portal.session.close.
func (n *connection) close(ctx context.Context, r *jsonrpc.Request) (any, error) {
	id, err := sessionID(r)
	if err != nil {
		return nil, err
	}
	s, err := n.host().Session(ctx, id)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return map[string]bool{"closed": true}, nil
}

type listParams struct {
	Limit     int    `json:"limit"`
	Scope     string `json:"scope"` // current, which terminal UIs call current_workspace; all
	Workspace string `json:"workspace_root"`
}

// Session is a session in a list (spec/contracts/ui-protocol.md, "5.4 session.list", with what
// people want to see).
type Session struct {
	ID        string        `json:"session_id"`
	Updated   string        `json:"updated_at"`
	Run       string        `json:"run_id,omitempty"`
	Messages  int           `json:"message_count"`
	Last      string        `json:"last_user_message,omitempty"`
	Title     string        `json:"title,omitempty"`
	Model     string        `json:"model"`
	Directory string        `json:"directory"`
	State     copilot.State `json:"state"`
	Origin    string        `json:"origin"`
	Created   string        `json:"created_at"`
	Outcome   event.Outcome `json:"outcome,omitempty"`   // of the last run
	WaitsFor  string        `json:"waits_for,omitempty"` // what an open question is about
	Pinned    bool          `json:"pinned,omitempty"`
	Archived  bool          `json:"archived,omitempty"`
	ForkOf    forkOrigin    `json:"forked_from,omitzero"`
	Agent     string        `json:"agent,omitempty"` // "": the first one
}

// forkOrigin is the session that a fork was made from.
type forkOrigin struct {
	ID    string `json:"session_id"`
	Title string `json:"title"` // at the time of the fork
}

// DescribeSession returns a session as lists have it.
func DescribeSession(i copilot.Info) Session {
	return Session{
		i.ID, event.FormatTime(i.Changed), i.Run, i.Prompts, plain.Text(i.Prompt), plain.Text(i.Title), i.Model, i.Directory, i.State, i.Origin, event.FormatTime(i.Created),
		i.Outcome, plain.Text(i.WaitsFor), i.Pinned, i.Archived,
		forkOrigin{i.ForkOf.ID, plain.Text(i.ForkOf.Title)},
		i.Agent,
	}
}

// sameDirectory returns a function that reports whether a path leads to a directory, by whatever
// name.
func sameDirectory(here string) func(directory string) bool {
	known := map[string]bool{}
	target := func(path string) string {
		if found, err := filepath.EvalSymlinks(path); err == nil {
			return found
		}
		return filepath.Clean(path)
	}
	here = target(here)
	return func(directory string) bool {
		is, seen := known[directory]
		if !seen {
			is = target(directory) == here
			known[directory] = is
		}
		return is
	}
}

const defaultSessions = 50

// list is session.list: the newest change first.
func (n *connection) list(ctx context.Context, r *jsonrpc.Request) (any, error) {
	p := listParams{Limit: defaultSessions}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.Limit <= 0 {
		p.Limit = defaultSessions
	}
	here := cmp.Or(p.Workspace, n.workspace())
	if _, limited := copilot.AccessOf(ctx); limited {
		here = "" // the portal's own directory is not its concern
	}
	isHere, all := sameDirectory(here), p.Scope != "current" && p.Scope != "current_workspace"
	list := []Session{}
	for after := ""; len(list) < p.Limit; {
		infos, next, err := n.host().Sessions(ctx, after, 0)
		if err != nil {
			return nil, err
		}
		for _, i := range infos {
			if len(list) < p.Limit && (all || isHere(i.Directory)) {
				list = append(list, DescribeSession(i))
			}
		}
		if after = next; after == "" {
			break
		}
	}
	return map[string]any{"sessions": list, "current_workspace_root": here}, nil
}

package page

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
)

type renameParams struct {
	oneSession
	Title string `json:"title"`
}

// rename is portal.session.rename.
func (n *connection) rename(ctx context.Context, p renameParams) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err == nil {
		err = s.Rename(ctx, p.Title)
	}
	return struct{}{}, err
}

type placeParams struct {
	oneSession
	Pinned   *bool `json:"pinned"`
	Archived *bool `json:"archived"`
}

// place is portal.session.update.
func (n *connection) place(ctx context.Context, p placeParams) (any, error) {
	if p.Pinned == nil && p.Archived == nil {
		return nil, jsonrpc.InvalidParams(`"pinned" or "archived" is missing`)
	}
	s, err := n.api.find(ctx, p.SessionID)
	if err == nil {
		err = s.Place(ctx, copilot.Placement{Pinned: p.Pinned, Archived: p.Archived})
	}
	return struct{}{}, err
}

type removeResult struct {
	Left string `json:"left,omitempty"` // why the agent's copy is still there
}

// remove is portal.session.delete.
func (n *connection) remove(ctx context.Context, p oneSession) (any, error) {
	if err := checkSessionID(p.SessionID); err != nil {
		return nil, err
	}
	err := n.host().Delete(ctx, p.SessionID)
	if errors.Is(err, fault.ErrCopyLeft) {
		return removeResult{err.Error()}, nil
	}
	return removeResult{}, err
}

type forkParams struct {
	oneSession
	AfterRun  string `json:"after_run"`
	BeforeRun string `json:"before_run"`
}

// fork is portal.session.fork.
func (n *connection) fork(ctx context.Context, p forkParams) (any, error) {
	if err := checkSessionID(p.SessionID); err != nil {
		return nil, err
	}
	s, err := n.host().Fork(ctx, p.SessionID, copilot.Cut{After: p.AfterRun, Before: p.BeforeRun})
	if err != nil {
		return nil, err
	}
	return oneSession{s.ID()}, nil
}

type resendResult struct {
	oneSession
	RunID string `json:"run_id"`
}

type resendParams struct {
	resendResult
	Text  string `json:"text"`
	Model string `json:"model"`
}

// resend is portal.session.resend.
func (n *connection) resend(ctx context.Context, p resendParams) (any, error) {
	if p.SessionID == "" || p.RunID == "" {
		return nil, jsonrpc.InvalidParams(`"session_id" or "run_id" is missing`)
	}
	s, run, err := n.host().Resend(ctx, p.SessionID, p.RunID, copilot.Resend{Text: p.Text, Model: p.Model, By: ui.Origin})
	if err != nil {
		return nil, err
	}
	return resendResult{oneSession{s.ID()}, run}, nil
}

type permitParams struct {
	oneSession
	Permissions map[string]string `json:"permissions"`
}

// permit is portal.session.permit: it merges rules into those of the session, and the new ones
// win.
func (n *connection) permit(ctx context.Context, p permitParams) (any, error) {
	if p.Permissions == nil {
		return nil, jsonrpc.InvalidParams(`"permissions" is missing: {name: "allow", "ask" or "deny"}`)
	}
	rules, err := permission.ParsePolicy(p.Permissions)
	if err != nil {
		return nil, jsonrpc.InvalidParams("%v", err)
	}
	s, err := n.api.find(ctx, p.SessionID)
	if err == nil {
		err = s.SetRules(rules)
	}
	return struct{}{}, err
}

// permissions is portal.session.permissions: the rules in force, and those remembered from
// answers.
func (n *connection) permissions(ctx context.Context, p oneSession) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string]permission.Policy{"rules": s.Rules(), "remembered": s.Remembered()}, nil
}

type revokeParams struct {
	oneSession
	Rule string `json:"rule"`
	All  bool   `json:"all"`
}

// revoke is portal.session.revoke: it removes one remembered rule, or all of them.
func (n *connection) revoke(ctx context.Context, p revokeParams) (any, error) {
	if (p.Rule == "") != p.All {
		return nil, jsonrpc.InvalidParams(`"rule" (a remembered one) or "all": true is missing`)
	}
	s, err := n.api.find(ctx, p.SessionID)
	if err == nil {
		err = s.Revoke(p.Rule)
	}
	return struct{}{}, err
}

// signIn is portal.server.signin: in a session, or for new ones.
func (n *connection) signIn(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		oneSession
		Server string `json:"server"`
	}
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.Server == "" {
		return nil, jsonrpc.InvalidParams(`"server" is missing`)
	}
	if p.SessionID == "" {
		return n.api.extensions.SignIn(ctx, r)
	}
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	url, err := s.SignIn(ctx, p.Server)
	if err != nil {
		return nil, err
	}
	return map[string]string{"url": url}, nil
}

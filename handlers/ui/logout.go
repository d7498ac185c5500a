package ui

import (
	"context"
	"errors"

	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type logoutParams struct {
	ClearSession bool `json:"clear_session"`
}

type logoutResult struct {
	OK             bool `json:"ok"`
	AuthCleared    bool `json:"auth_cleared"`
	SessionCleared bool `json:"session_cleared"`
	Cancelled      bool `json:"cancelled,omitempty"`
}

// logout is auth.logout, of terminal UIs. The sign-in belongs to all programs that use the Copilot
// CLI, so the user confirms it if the UI can ask. With clear_session the next run without a
// session starts a new one.
func (n *connection) logout(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p logoutParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if n.capabilities().Confirm {
		if confirmed, err := n.confirmLogout(ctx); err != nil || !confirmed {
			return logoutResult{Cancelled: true}, err
		}
	}
	cleared, err := n.host().SignOut(ctx)
	if err != nil {
		return nil, err
	}
	if p.ClearSession {
		n.setCurrent("")
	}
	return logoutResult{OK: true, AuthCleared: cleared, SessionCleared: p.ClearSession}, nil
}

func (n *connection) confirmLogout(ctx context.Context) (bool, error) {
	var result confirmResult
	err := n.peer.Call(ctx, "ui.confirm.request", confirmParams{
		Title: "Sign out of GitHub Copilot?", Message: "This signs out all programs of this user that use the Copilot CLI.",
		Confirm: "Sign out", Cancel: "Stay signed in", Danger: "danger",
	}, &result)
	var refused *jsonrpc.Error
	if errors.As(err, &refused) { // the UI declines or cannot ask
		return false, nil
	}
	return result.OK != nil && *result.OK, err
}

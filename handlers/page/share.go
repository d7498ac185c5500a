package page

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/handlers/wire"
)

// shared is a link without its token.
type shared struct {
	ShareID string `json:"share_id"`
	oneSession
	Rights  share.Rights `json:"rights"`
	Label   string       `json:"label,omitempty"`
	Created string       `json:"created_at"`
	Expires string       `json:"expires_at"`
	Used    string       `json:"used_at,omitempty"`
}

func describeShare(x share.Share) shared {
	created, expires, used := event.FormatTime(x.Created), event.FormatTime(x.Expires), event.FormatTime(x.Used)
	return shared{x.ID, oneSession{x.Session}, x.Rights, plain.Text(x.Label), created, expires, used}
}

// newShare is a link that was just created. Its token is never sent again.
type newShare struct {
	shared
	Token string `json:"token"`
	Path  string `json:"path"` // of its page on this portal
}

type createShareParams struct {
	oneSession
	Rights    string `json:"rights"`
	ExpiresIn int64  `json:"expires_in"` // seconds
	Label     string `json:"label"`
}

// createShare is portal.share.create.
func (n *connection) createShare(ctx context.Context, p createShareParams) (any, error) {
	if err := checkSessionID(p.SessionID); err != nil {
		return nil, err
	}
	lifetime, err := share.Seconds(p.ExpiresIn)
	if err != nil {
		return nil, err
	}
	x, token, err := n.api.options.Shares.Create(ctx, share.Order{
		Session: p.SessionID, Rights: share.Rights(p.Rights), Lifetime: lifetime, Label: p.Label,
	})
	if err != nil {
		return nil, err
	}
	return newShare{describeShare(x), token, share.Address(n.api.options.BasePath, token)}, nil
}

// listShares is portal.share.list.
func (n *connection) listShares(ctx context.Context, p oneSession) (any, error) {
	if err := checkSessionID(p.SessionID); err != nil {
		return nil, err
	}
	list, err := n.api.options.Shares.List(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string][]shared{"shares": wire.List(list, describeShare)}, nil
}

type revokeShareParams struct {
	oneSession
	ShareID string `json:"share_id"`
}

// revokeShare is portal.share.revoke.
func (n *connection) revokeShare(ctx context.Context, p revokeShareParams) (any, error) {
	if p.SessionID == "" || p.ShareID == "" {
		return nil, jsonrpc.InvalidParams(`"session_id" or "share_id" is missing`)
	}
	return struct{}{}, n.api.options.Shares.Revoke(ctx, p.SessionID, p.ShareID)
}

// currentShare is portal.share.current: the link by which the UI came.
func (n *connection) currentShare(ctx context.Context, _ *jsonrpc.Request) (any, error) {
	x, ok := share.Of(ctx)
	if !ok {
		return nil, fault.Errorf(fault.Invalid, "this connection does not come by a link to a session")
	}
	return describeShare(x), nil
}

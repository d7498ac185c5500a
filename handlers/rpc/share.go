package rpc

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/share"
	"github.com/copilot-portal/portal/handlers/wire"
)

type shareParams struct {
	SessionID string `json:"sessionId"`
	Rights    string `json:"rights"`
	ExpiresIn int64  `json:"expiresIn"` // seconds
	Label     string `json:"label"`
}

// shared is a link without its token.
type shared struct {
	ShareID   string       `json:"shareId"`
	SessionID string       `json:"sessionId"`
	Rights    share.Rights `json:"rights"`
	Label     string       `json:"label,omitempty"`
	CreatedAt string       `json:"createdAt"`
	ExpiresAt string       `json:"expiresAt"`
	UsedAt    string       `json:"usedAt,omitempty"`
}

func describeShare(x share.Share) shared {
	return shared{x.ID, x.Session, x.Rights, x.Label, event.FormatTime(x.Created), event.FormatTime(x.Expires), event.FormatTime(x.Used)}
}

// newShare is a link that was just created. Its token is never sent again.
type newShare struct {
	shared
	Token string `json:"token"`
	Path  string `json:"path"` // of its page on this portal
}

// createShare is share.create.
func (a *API) createShare(ctx context.Context, p shareParams) (any, error) {
	if err := checkID(p.SessionID); err != nil {
		return nil, err
	}
	lifetime, err := share.Seconds(p.ExpiresIn)
	if err != nil {
		return nil, err
	}
	x, token, err := a.options.Shares.Create(ctx, share.Order{
		Session: p.SessionID, Rights: share.Rights(p.Rights), Lifetime: lifetime, Label: p.Label,
	})
	if err != nil {
		return nil, err
	}
	return newShare{describeShare(x), token, share.Address(a.options.BasePath, token)}, nil
}

// listShares is share.list.
func (a *API) listShares(ctx context.Context, p sessionParams) (any, error) {
	if err := checkID(p.SessionID); err != nil {
		return nil, err
	}
	list, err := a.options.Shares.List(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string][]shared{"shares": wire.List(list, describeShare)}, nil
}

type revokeShareParams struct {
	SessionID string `json:"sessionId"`
	ShareID   string `json:"shareId"`
}

// revokeShare is share.revoke.
func (a *API) revokeShare(ctx context.Context, p revokeShareParams) (any, error) {
	if p.SessionID == "" || p.ShareID == "" {
		return nil, jsonrpc.InvalidParams(`"sessionId" or "shareId" is missing`)
	}
	return map[string]bool{"revoked": true}, a.options.Shares.Revoke(ctx, p.SessionID, p.ShareID)
}

// currentShare is share.current: the link that the caller uses.
func (a *API) currentShare(ctx context.Context, _ *jsonrpc.Request) (any, error) {
	x, ok := share.Of(ctx)
	if !ok {
		return nil, fault.Errorf(fault.Invalid, "this connection does not come by a link to a session")
	}
	return describeShare(x), nil
}

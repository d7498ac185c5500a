package rpc

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// forkParams name a session, and the run at which the fork ends: the id of a run is that of its message.
type forkParams struct {
	SessionID     string `json:"sessionId"`
	AfterMessage  string `json:"afterMessage"`
	BeforeMessage string `json:"beforeMessage"`
}

// fork is session.fork.
func (a *API) fork(ctx context.Context, p forkParams) (any, error) {
	if err := checkID(p.SessionID); err != nil {
		return nil, err
	}
	s, err := a.options.Host.Fork(ctx, p.SessionID, copilot.Cut{After: p.AfterMessage, Before: p.BeforeMessage})
	if err != nil {
		return nil, err
	}
	a.follow(s, "")
	return describeCreated(s), nil
}

// resendParams name a message, and what changes when it is sent again.
type resendParams struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId"`
	Prompt    string `json:"prompt"`
	Model     string `json:"model"`
}

// resent is the result of session.resend.
type resent struct {
	SessionID string `json:"sessionId"`
	sent
}

// resend is session.resend.
func (a *API) resend(ctx context.Context, p resendParams) (any, error) {
	if p.SessionID == "" || p.MessageID == "" {
		return nil, jsonrpc.InvalidParams(`"sessionId" or "messageId" is missing`)
	}
	s, run, err := a.options.Host.Resend(ctx, p.SessionID, p.MessageID, copilot.Resend{Text: p.Prompt, Model: p.Model, By: Origin})
	if err != nil {
		return nil, err
	}
	a.follow(s, "")
	return resent{s.ID(), a.sent(s, run)}, nil
}

package rpc

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/handlers/wire"
)

// queuedPrompt is a prompt that waits for its turn.
type queuedPrompt struct {
	MessageID string `json:"messageId"`
	Text      string `json:"text"`
	By        string `json:"by,omitempty"`
}

// queueParams name a queued prompt, and what a change of it needs.
type queueParams struct {
	SessionID string `json:"sessionId"`
	MessageID string `json:"messageId"`
	Prompt    string `json:"prompt"` // of queue.edit
	Before    string `json:"before"` // of queue.move; "": to the end
}

// listQueue is queue.list: the queued prompts with their whole texts, in order.
func (a *API) listQueue(ctx context.Context, p sessionParams) (any, error) {
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"prompts": wire.List(s.Queue(), func(w event.Waiting) queuedPrompt { return queuedPrompt{MessageID: w.Run, Text: w.Text, By: w.By} })}, nil
}

// editQueued is queue.edit.
func (a *API) editQueued(ctx context.Context, p queueParams) (any, error) {
	return a.changeQueue(ctx, p, "edited", func(s *copilot.Session) error { return s.EditQueued(p.MessageID, p.Prompt) })
}

// moveQueued is queue.move.
func (a *API) moveQueued(ctx context.Context, p queueParams) (any, error) {
	return a.changeQueue(ctx, p, "moved", func(s *copilot.Session) error { return s.MoveQueued(p.MessageID, p.Before) })
}

// sendQueued is queue.send: it sends a queued prompt into the current run.
func (a *API) sendQueued(ctx context.Context, p queueParams) (any, error) {
	return a.changeQueue(ctx, p, "sent", func(s *copilot.Session) error {
		_, err := s.SendQueued(p.MessageID)
		return err
	})
}

func (a *API) changeQueue(ctx context.Context, p queueParams, done string, change func(*copilot.Session) error) (any, error) {
	if p.MessageID == "" {
		return nil, jsonrpc.InvalidParams(`"messageId" is missing`)
	}
	s, err := a.session(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string]bool{done: true}, change(s)
}

package page

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/wire"
)

// queuedPrompt is a prompt that waits for its turn.
type queuedPrompt struct {
	RunID string `json:"run_id"`
	Text  string `json:"text"`
	By    string `json:"by,omitempty"`
}

// queueParams name a queued prompt, and what a change of it needs.
type queueParams struct {
	oneSession
	RunID  string `json:"run_id"`
	Text   string `json:"text"`   // of portal.queue.edit
	Before string `json:"before"` // of portal.queue.move; "": to the end
}

// listQueue is portal.queue.list: the queued prompts with their whole texts, in order.
func (n *connection) listQueue(ctx context.Context, r *jsonrpc.Request) (any, error) {
	s, err := n.api.session(ctx, r)
	if err != nil {
		return nil, err
	}
	return map[string]any{"waiting": wire.List(s.Queue(), func(w event.Waiting) queuedPrompt { return queuedPrompt{w.Run, plain.Text(w.Text), w.By} })}, nil
}

// editQueued is portal.queue.edit.
func (n *connection) editQueued(ctx context.Context, r *jsonrpc.Request) (any, error) {
	return n.changeQueue(ctx, r, func(s *copilot.Session, p queueParams) (any, error) { return struct{}{}, s.EditQueued(p.RunID, p.Text) })
}

// moveQueued is portal.queue.move.
func (n *connection) moveQueued(ctx context.Context, r *jsonrpc.Request) (any, error) {
	return n.changeQueue(ctx, r, func(s *copilot.Session, p queueParams) (any, error) {
		return struct{}{}, s.MoveQueued(p.RunID, p.Before)
	})
}

// sendQueued is portal.queue.send: it sends a queued prompt into the current run.
func (n *connection) sendQueued(ctx context.Context, r *jsonrpc.Request) (any, error) {
	return n.changeQueue(ctx, r, func(s *copilot.Session, p queueParams) (any, error) {
		run, err := s.SendQueued(p.RunID)
		return map[string]string{"run_id": run}, err
	})
}

func (n *connection) changeQueue(ctx context.Context, r *jsonrpc.Request, change func(*copilot.Session, queueParams) (any, error)) (any, error) {
	var p queueParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.RunID == "" {
		return nil, jsonrpc.InvalidParams(`"run_id" is missing`)
	}
	s, err := n.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return change(s, p)
}

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
func (n *connection) listQueue(ctx context.Context, p oneSession) (any, error) {
	s, err := n.api.find(ctx, p.SessionID)
	if err != nil {
		return nil, err
	}
	return map[string]any{"waiting": wire.List(s.Queue(), func(w event.Waiting) queuedPrompt { return queuedPrompt{w.Run, plain.Text(w.Text), w.By} })}, nil
}

// editQueued is portal.queue.edit.
func (n *connection) editQueued(ctx context.Context, p queueParams) (any, error) {
	s, err := n.findQueue(ctx, p)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.EditQueued(p.RunID, p.Text)
}

// moveQueued is portal.queue.move.
func (n *connection) moveQueued(ctx context.Context, p queueParams) (any, error) {
	s, err := n.findQueue(ctx, p)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.MoveQueued(p.RunID, p.Before)
}

// sendQueued is portal.queue.send: it sends a queued prompt into the current run.
func (n *connection) sendQueued(ctx context.Context, p queueParams) (any, error) {
	s, err := n.findQueue(ctx, p)
	if err != nil {
		return nil, err
	}
	run, err := s.SendQueued(p.RunID)
	return map[string]string{"run_id": run}, err
}

// findQueue returns the session with a queued prompt.
func (n *connection) findQueue(ctx context.Context, p queueParams) (*copilot.Session, error) {
	if p.RunID == "" {
		return nil, jsonrpc.InvalidParams(`"run_id" is missing`)
	}
	return n.api.find(ctx, p.SessionID)
}

package page

import (
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/plain"
)

// queuedPrompt is a prompt that waits for its turn.
type queuedPrompt struct {
	RunID string `json:"run_id"`
	Text  string `json:"text"`
	By    string `json:"by,omitempty"`
}

// oneQueued names a queued prompt.
type oneQueued struct {
	oneSession
	RunID string `json:"run_id"`
}

// listQueue is portal.queue.list: the queued prompts with their whole texts, in order.
func (n *connection) listQueue(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p oneSession
	s, err := n.findIn(ctx, r, &p, &p.SessionID)
	if err != nil {
		return nil, err
	}
	list := []queuedPrompt{}
	for _, w := range s.Queue() {
		list = append(list, queuedPrompt{RunID: w.Run, Text: plain.Text(w.Text), By: w.By})
	}
	return map[string]any{"waiting": list}, nil
}

// editQueued is portal.queue.edit.
func (n *connection) editQueued(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		oneQueued
		Text string `json:"text"`
	}
	s, err := n.findQueued(ctx, r, &p, &p.oneQueued)
	if err == nil {
		err = s.EditQueued(p.RunID, p.Text)
	}
	return struct{}{}, err
}

// moveQueued is portal.queue.move.
func (n *connection) moveQueued(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p struct {
		oneQueued
		Before string `json:"before"` // "": to the end
	}
	s, err := n.findQueued(ctx, r, &p, &p.oneQueued)
	if err == nil {
		err = s.MoveQueued(p.RunID, p.Before)
	}
	return struct{}{}, err
}

// sendQueued is portal.queue.send: it sends a queued prompt into the current run.
func (n *connection) sendQueued(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p oneQueued
	s, err := n.findQueued(ctx, r, &p, &p)
	if err != nil {
		return nil, err
	}
	run, err := s.SendQueued(p.RunID)
	if err != nil {
		return nil, err
	}
	return map[string]string{"run_id": run}, nil
}

// findQueued decodes params that name a queued prompt, and returns its session.
func (n *connection) findQueued(ctx context.Context, r *jsonrpc.Request, params any, one *oneQueued) (*copilot.Session, error) {
	if err := r.Decode(params); err != nil {
		return nil, err
	}
	if one.RunID == "" {
		return nil, jsonrpc.InvalidParams(`"run_id" is missing`)
	}
	return n.find(ctx, one.SessionID)
}

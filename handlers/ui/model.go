package ui

import (
	"cmp"
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

// provider is the name of the only provider (spec/contracts/ui-protocol.notes.md, "Rules that real
// UIs rely on").
const provider = "copilot"

type modelsParams struct {
	Details bool `json:"include_details"`
}

type modelsResult struct {
	Provider string                  `json:"provider"`
	Models   []string                `json:"models"`
	Current  string                  `json:"current,omitempty"`
	Details  map[string]modelDetails `json:"details,omitempty"`
}

// modelDetails are those of spec/contracts/ui-protocol.md, "5.6 model.list", and more to show. The
// context window holds input and output together.
type modelDetails struct {
	Window     int64   `json:"context_window,omitempty"`
	Input      int64   `json:"max_input_tokens,omitempty"`
	Output     int64   `json:"max_output_tokens,omitempty"`
	Name       string  `json:"name"`
	Multiplier float64 `json:"multiplier"`
	Vision     bool    `json:"vision"`
	Agent      string  `json:"agent,omitempty"` // "": the first one
}

// models is model.list. It ignores the provider asked for.
func (n *connection) models(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p modelsParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	list, err := n.host().Models(ctx)
	if err != nil {
		return nil, err
	}
	result := modelsResult{Provider: provider, Models: []string{}, Current: n.currentModel(ctx)}
	for _, m := range list {
		result.Models = append(result.Models, m.ID)
	}
	if result.Current == "" && len(list) > 0 {
		result.Current = list[0].ID
	}
	if p.Details {
		result.Details = map[string]modelDetails{}
		for _, m := range list {
			result.Details[m.ID] = modelDetails{Window: m.Context, Input: m.Context, Name: m.Name, Multiplier: m.Multiplier, Vision: m.Vision, Agent: m.Agent}
		}
	}
	return result, nil
}

// currentModel returns the model of the current or the next session; "" is the default.
func (n *connection) currentModel(ctx context.Context) string {
	n.mu.Lock()
	session, model := n.current, n.model
	n.mu.Unlock()
	if session == "" {
		return model
	}
	s, err := n.host().Session(ctx, session)
	if err != nil {
		return model
	}
	return s.Info().Model
}

type modelParams struct {
	Name      string `json:"name"`
	SessionID string `json:"session_id"`
}

type modelResult struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
}

// setModel is model.set: it sets the model of the current session and of later ones.
func (n *connection) setModel(ctx context.Context, r *jsonrpc.Request) (any, error) {
	var p modelParams
	if err := r.Decode(&p); err != nil {
		return nil, err
	}
	if p.Name == "" {
		return nil, jsonrpc.InvalidParams(`"name" is missing`)
	}
	n.mu.Lock()
	id := cmp.Or(p.SessionID, n.current)
	n.mu.Unlock()
	name, err := n.switchModel(ctx, id, p.Name)
	if err != nil {
		return nil, err
	}
	if p.SessionID == "" {
		n.mu.Lock()
		n.model = name
		n.mu.Unlock()
	}
	return modelResult{provider, name}, nil
}

// switchModel sets the model of a session; without one it only checks the name.
func (n *connection) switchModel(ctx context.Context, session, name string) (id string, err error) {
	if session == "" {
		m, err := n.host().FindModel(ctx, name)
		return m.ID, err
	}
	s, err := n.host().Session(ctx, session)
	if err == nil && s.Info().State == copilot.StateClosed {
		err = s.Resume(ctx)
	}
	if err != nil {
		return "", err
	}
	if err := s.SetModel(ctx, name); err != nil {
		return "", err
	}
	return s.Info().Model, nil
}

package rpc

import (
	"context"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
)

type model struct {
	ID            string   `json:"id"`
	Name          string   `json:"name"`
	Capabilities  []string `json:"capabilities"`
	ContextWindow int64    `json:"contextWindow"`
	Multiplier    float64  `json:"multiplier"`
}

// models returns the models, the default first.
func (a *API) models(ctx context.Context, _ *jsonrpc.Request) (any, error) {
	models, err := a.options.Host.Models(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]model, 0, len(models))
	for _, m := range models {
		able := []string{"code", "chat"}
		if m.Vision {
			able = append(able, "vision")
		}
		list = append(list, model{m.ID, m.Name, able, m.Context, m.Multiplier})
	}
	return map[string]any{"models": list}, nil
}

// setModel sets the model of a session, by id or name, unless it has that already: a model cannot
// change during a run.
func (a *API) setModel(ctx context.Context, s *copilot.Session, name string) error {
	current := s.Info().Model
	if name == "" || name == current {
		return nil
	}
	models, err := a.options.Host.Models(ctx)
	if err != nil {
		return err
	}
	for _, m := range models {
		if m.ID == current && strings.EqualFold(m.Name, name) {
			return nil
		}
	}
	return s.SetModel(ctx, name)
}

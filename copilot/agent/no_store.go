package agent

import "context"

// NoStore is the [ExtensionStore] of an agent that stores none: there are no servers, and changes fail as [Cannot] says.
type NoStore struct {
	Name  string                          // of the agent
	Alive func(ctx context.Context) error // returns the error of calls after the end of the process
}

// Servers returns none.
func (n NoStore) Servers(ctx context.Context) ([]ServerConfig, error) { return nil, n.Alive(ctx) }

// AddServer fails.
func (n NoStore) AddServer(ctx context.Context, _ ServerConfig) error { return n.refuse(ctx) }

// RemoveServer fails.
func (n NoStore) RemoveServer(ctx context.Context, _ string) error { return n.refuse(ctx) }

// EnableServer fails.
func (n NoStore) EnableServer(ctx context.Context, _ string, _ bool) error { return n.refuse(ctx) }

// EnableSkill fails.
func (n NoStore) EnableSkill(ctx context.Context, _ string, _ bool) error { return n.refuse(ctx) }

func (n NoStore) refuse(ctx context.Context) error {
	if err := n.Alive(ctx); err != nil {
		return err
	}
	return Cannot(n.Name, Storing.Operation())
}

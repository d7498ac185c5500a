package sdk

import (
	"context"
)

// Fork copies what the CLI has saved.
func (a *Agent) Fork(ctx context.Context, session string) (string, error) { panic(session) }

// Forget deletes what the CLI has saved.
func (a *Agent) Forget(ctx context.Context, session string) error { panic(session) }

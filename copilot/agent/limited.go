package agent

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Limited has the methods of an [Agent] that its protocol has no means for: it copies no conversations, has no account and stores no
// extensions. What it cannot do fails as [Cannot] says.
type Limited struct {
	Name  string                          // of the agent; may be ""
	Alive func(ctx context.Context) error // returns the error of calls after the end of the process
}

// Cannot returns the error for an operation of which the agent is not capable.
func (l Limited) Cannot(operation string) error { return Cannot(l.Name, operation) }

// Fork finds nothing that it could copy.
func (l Limited) Fork(ctx context.Context, _ string, _ time.Time) (string, error) {
	if err := l.Alive(ctx); err != nil {
		return "", err
	}
	return "", fault.Errorf(fault.NotFound, "%w", l.Cannot(Forking.Operation()))
}

// Account returns an empty account.
func (l Limited) Account(ctx context.Context) (Account, error) { return Account{}, l.Alive(ctx) }

// SignOut does nothing: the agent's own program signs it out.
func (l Limited) SignOut(ctx context.Context) (bool, error) { return false, l.Alive(ctx) }

// Extensions returns none.
func (l Limited) Extensions(ctx context.Context, _ string) (Extensions, error) {
	return Extensions{}, l.Alive(ctx)
}

// Servers returns none.
func (l Limited) Servers(ctx context.Context) ([]ServerConfig, error) { return nil, l.Alive(ctx) }

// AddServer fails.
func (l Limited) AddServer(ctx context.Context, _ ServerConfig) error { return l.storesNothing(ctx) }

// RemoveServer fails.
func (l Limited) RemoveServer(ctx context.Context, _ string) error { return l.storesNothing(ctx) }

// EnableServer fails.
func (l Limited) EnableServer(ctx context.Context, _ string, _ bool) error {
	return l.storesNothing(ctx)
}

// EnableSkill fails.
func (l Limited) EnableSkill(ctx context.Context, _ string, _ bool) error {
	return l.storesNothing(ctx)
}

func (l Limited) storesNothing(ctx context.Context) error {
	if err := l.Alive(ctx); err != nil {
		return err
	}
	return l.Cannot(Storing.Operation())
}

// LimitedConversation has the methods of a [Conversation] of such an agent.
type LimitedConversation struct {
	Name   string                          // of the agent; may be ""
	Usable func(ctx context.Context) error // returns the error of calls after the end of the conversation or of the process
}

func (l LimitedConversation) refuse(ctx context.Context, operation string) error {
	if err := l.Usable(ctx); err != nil {
		return err
	}
	return Cannot(l.Name, operation)
}

// Compact fails.
func (l LimitedConversation) Compact(ctx context.Context) error {
	return l.refuse(ctx, Compaction.Operation())
}

// SignIn fails.
func (l LimitedConversation) SignIn(ctx context.Context, _ string) (string, error) {
	return "", l.refuse(ctx, SigningIn)
}

// Ask fails: every question would become part of the conversation.
func (l LimitedConversation) Ask(ctx context.Context, _ string) (string, error) {
	return "", l.refuse(ctx, Asking.Operation())
}

// Background reports false.
func (l LimitedConversation) Background(ctx context.Context) (bool, error) {
	return false, l.Usable(ctx)
}

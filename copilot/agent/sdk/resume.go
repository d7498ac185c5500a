package sdk

import (
	"context"
	"errors"
	"strings"

	vendor "github.com/github/copilot-sdk/go"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// notResumed returns the event for a saved conversation that cannot be resumed.
func notResumed() event.SessionError {
	return event.SessionError{
		Kind: fault.Unavailable,
		Text: "the agent's saved conversation cannot be resumed: it starts anew and does not know the earlier conversation",
		Hint: "Repeat what it needs to know. The record keeps the earlier conversation.",
	}
}

// open starts or resumes a conversation, and reports whether it was resumed.
func (a *Agent) open(ctx context.Context, o agent.Opening, config vendor.SessionConfig) (s *vendor.Session, resumed bool, err error) {
	if o.Resume {
		s, err = a.client.ResumeSession(ctx, o.Session, resumeConfig(config, len(o.Pending) > 0))
		if err == nil || ctx.Err() != nil {
			return s, err == nil, err
		}
		if saved, e := a.client.GetSessionMetadata(ctx, o.Session); e != nil || saved != nil { // without a prompt, nothing is saved
			a.driver.options.Log.Warn("cannot resume a saved conversation; it starts anew", "session", o.Session, "err", err)
		}
		if err := a.deleteCorruptSave(ctx, o.Session, err); err != nil {
			return nil, false, err
		}
	}
	s, err = a.client.CreateSession(ctx, &config)
	return s, false, err
}

// deleteCorruptSave deletes a damaged save, because the CLI could never save anything under its id again.
// Saves that are unreadable for other reasons stay.
func (a *Agent) deleteCorruptSave(ctx context.Context, session string, why error) error {
	if !strings.Contains(why.Error(), "is corrupted") {
		return nil
	}
	return a.client.DeleteSession(ctx, session)
}

// Forget deletes what the CLI has saved.
func (a *Agent) Forget(ctx context.Context, session string) error {
	err := a.withSave(ctx, session, func(ctx context.Context) error { return a.client.DeleteSession(ctx, session) })
	if errors.Is(err, errNotSaved) {
		return nil
	}
	return err
}

// errNotSaved says that nothing is saved.
var errNotSaved = errors.New("the agent has nothing saved")

// withSave makes a call that needs saved state. If it fails, withSave checks whether there is any.
func (a *Agent) withSave(ctx context.Context, session string, do func(context.Context) error) error {
	err := a.call(ctx, callTimeout, func(ctx context.Context) error {
		err := do(ctx)
		if err == nil {
			return nil
		}
		if saved, e := a.client.GetSessionMetadata(ctx, session); e == nil && saved == nil {
			return errNotSaved
		}
		return err
	})
	if err == nil || errors.Is(err, errNotSaved) {
		return err
	}
	return a.refused(err)
}

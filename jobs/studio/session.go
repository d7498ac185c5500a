package studio

import (
	"cmp"
	"context"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/follow"
	"github.com/copilot-portal/portal/copilot/permission"
)

// studioSession is a session that the studio speaks with, one prompt at a time.
type studioSession struct{ reader *follow.SessionReader }

// session is the session as it is in memory now.
func (t *studioSession) session() *copilot.Session { return t.reader.Session() }

// open starts a session. The agent comes with the first prompt.
func (h *Host) open(ctx context.Context, title string, policy permission.Policy) (*studioSession, error) {
	s, err := h.options.Sessions.Start(ctx, copilot.Start{
		Origin: Origin, Model: h.options.Model, Directory: h.options.Directory, Policy: policy, WithoutAgent: true,
	})
	if err != nil {
		return nil, err
	}
	_ = s.Rename(ctx, title) // else lists show the beginning of the prompt
	return h.newStudioSession(s), nil
}

// newStudioSession speaks in a session, of which it reads what happens from now on.
func (h *Host) newStudioSession(s *copilot.Session) *studioSession {
	return &studioSession{follow.Session(h.options.Sessions, s, s.Record().Last())}
}

// close ends the session; what was said stays to be read.
func (t *studioSession) close() { _ = t.session().Close() } // at rest it is closed already

// prompt gives a prompt to the agent and returns its last message. Pieces of messages go to tell as they come. When ctx ends,
// the run is cancelled and not waited for.
func (t *studioSession) prompt(ctx context.Context, text string, tell func(piece string)) (answer string, err error) {
	run, err := t.reader.Prompt(event.Prompt{Text: text, By: Origin})
	if err != nil {
		return "", err
	}
	for b, err := range run.Events(ctx) {
		if err != nil {
			return "", cmp.Or(ctx.Err(), err)
		}
		for _, e := range b.Entries { // a gap takes pieces only: the whole message follows
			if piece, ok := e.Value.Body.(event.MessageDelta); ok && e.Value.Run == run.ID {
				tell(piece.Text)
			}
		}
	}
	return run.Text, outcome(run.RunView)
}

// outcome is the error that the end of a run stands for.
func outcome(run follow.RunView) error {
	switch run.Outcome {
	case event.Completed:
		return nil
	case event.Cancelled:
		return fault.Errorf(fault.Internal, "somebody has stopped the agent")
	case event.Interrupted:
		return fault.ErrStopping
	case event.Failed:
	}
	return fault.Errorf(fault.Internal, "the agent has failed: %s", cmp.Or(run.Reason, "it gave no reason"))
}

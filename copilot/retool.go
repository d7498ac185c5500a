package copilot

import (
	"bytes"
	"context"
	"errors"
	"slices"
)

// SetTools replaces the tools of clients from the next prompt on, which takes the
// conversation up with them: agents know tools from its opening only. It does
// nothing where they are what the session has. Errors: kind [Invalid] for tools
// that cannot be offered, [ErrSessionClosed], kind [Busy] during a run and while the
// agent has something in the background, which would end with the conversation, and
// those of waking a session at rest.
func (s *Session) SetTools(ctx context.Context, tools []Tool) error {
	if err := checkTools(tools); err != nil {
		return err
	}
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.awaken(ctx); err != nil {
		return err
	}
	for changed := false; !changed; {
		if changed, err = s.tryTools(ctx, tools); err != nil {
			return err
		}
	}
	return nil
}

// tryTools replaces the tools unless a prompt comes in between.
func (s *Session) tryTools(ctx context.Context, tools []Tool) (changed bool, err error) {
	l, same, err := s.toolsNow(tools)
	if same || err != nil {
		return same, err
	}
	if l != nil {
		if err := s.spare(ctx, l); err != nil {
			return false, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.run != nil || s.link != l {
		return false, nil
	}
	s.retool(tools)
	s.nudge()
	return true, nil
}

// retool replaces the tools, and has the conversation let go that has the old ones.
// Called with the lock held.
func (s *Session) retool(tools []Tool) {
	if slices.EqualFunc(s.tools, tools, Tool.equal) {
		return
	}
	s.tools = slices.Clone(tools)
	s.renew()
	if s.link != nil {
		s.link.outdated = true
	}
}

// toolsNow gives the conversation that has the tools of now, nil if there is none,
// and says whether they are the same as others.
func (s *Session) toolsNow(others []Tool) (l *link, same bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, false, ErrSessionClosed
	case slices.EqualFunc(s.tools, others, Tool.equal):
		return nil, true, nil
	case s.run != nil:
		return nil, false, Errorf(Busy, "the tools can be changed when the current run has ended")
	}
	return s.link, false, nil
}

// spare refuses to let a conversation go with which something would end.
func (s *Session) spare(ctx context.Context, l *link) error {
	if s.isAtRest(ctx, l) {
		return nil
	}
	if err := because(ctx, l.lease.Agent, errInBackground); errors.Is(err, errInBackground) {
		return err
	}
	return nil // all has ended with its process
}

var errInBackground = Errorf(Busy, "the tools can be changed when what the agent has in the background has ended")

func (t Tool) equal(other Tool) bool {
	return t.Name == other.Name && t.Description == other.Description && t.Limit == other.Limit && bytes.Equal(t.Schema, other.Schema)
}

// dropOutdated lets go of a conversation that has other tools than the session.
// Called by the loop while the agent has no prompt.
func (s *Session) dropOutdated() {
	s.mu.Lock()
	outdated := s.link != nil && s.link.outdated
	s.mu.Unlock()
	if outdated {
		s.detach()
	}
}

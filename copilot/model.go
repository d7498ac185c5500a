package copilot

import (
	"context"
	"slices"
	"strings"
)

// findModel looks for a model by its id, else by its name for people, in any
// case. "" is the default.
func (h *Host) findModel(ctx context.Context, a Agent, name string) (Model, error) {
	models, err := a.Models(ctx)
	if err != nil {
		return Model{}, err
	}
	if name == "" {
		name = h.options.Model
	}
	if name == "" && len(models) > 0 {
		return models[0], nil
	}
	i := indexOf(models, name)
	if i < 0 {
		return Model{}, Errorf(Invalid, "%w: %q", ErrModelNotFound, name)
	}
	return models[i], nil
}

// CheckModel looks whether there is a model that [Start.Model] may name. It starts an agent process if none runs. Errors:
// [ErrModelNotFound] with the ids that there are, kind [Unavailable] when the agent cannot be had.
func (h *Host) CheckModel(ctx context.Context, name string) error {
	models, err := h.Models(ctx)
	if err != nil || indexOf(models, name) >= 0 {
		return err
	}
	ids := make([]string, 0, len(models))
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	return Errorf(Invalid, "%w; there is %s", ErrModelNotFound, strings.Join(ids, ", "))
}

// indexOf is where a model stands; of several that a name fits the first, -1 if
// it fits none.
func indexOf(models []Model, name string) int {
	i := slices.IndexFunc(models, func(m Model) bool { return m.ID == name })
	if i < 0 {
		i = slices.IndexFunc(models, func(m Model) bool { return strings.EqualFold(m.Name, name) || strings.EqualFold(m.ID, name) })
	}
	return i
}

// SetModel changes the model, given by its id or its name for people, from the
// next prompt on. Errors: [ErrModelNotFound], [ErrSessionClosed], kind [Busy] during a run.
func (s *Session) SetModel(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	leave, err := s.enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.awaken(ctx); err != nil {
		return err
	}
	for changed := false; !changed; {
		if changed, err = s.tryModel(ctx, model); err != nil {
			return err
		}
	}
	return nil
}

// tryModel changes the model unless a conversation is opened meanwhile, which
// has the old one.
func (s *Session) tryModel(ctx context.Context, model string) (changed bool, err error) {
	l, err := s.idleLink()
	if err != nil {
		return false, err
	}
	found, err := s.findModel(ctx, l, model)
	if err != nil {
		return false, err
	}
	if l != nil {
		if err := l.conversation.SetModel(ctx, found.ID); err != nil {
			return false, because(ctx, l.lease.Agent, err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l || l == nil && s.opening != nil {
		return false, nil
	}
	s.setModel(found)
	return true, nil
}

// findModel looks a model up with the session's agent, or any if it has none.
func (s *Session) findModel(ctx context.Context, l *link, model string) (Model, error) {
	if l != nil {
		return s.host.findModel(ctx, l.lease.Agent, model)
	}
	lease, err := s.host.pool.AcquireIn(ctx, s.directory)
	if err != nil {
		return Model{}, err
	}
	defer lease.Release()
	return s.host.findModel(ctx, lease.Agent, model)
}

func (s *Session) idleLink() (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrSessionClosed
	}
	if s.state() != StateIdle {
		return nil, Errorf(Busy, "the model can be changed when the current run has ended")
	}
	return s.link, nil
}

// setModel is called with the lock held.
func (s *Session) setModel(m Model) {
	changed := m.ID != s.model.ID
	s.model, s.seeks = m, false // also if it is the same: [Session.follow] did not know it all
	s.renew()
	if changed {
		s.append("", ModelChanged{Model: m.ID})
	}
}

// settleModel looks up the model that a client named when it started the session,
// unless another was set meanwhile.
func (s *Session) settleModel(ctx context.Context, a Agent) error {
	s.mu.Lock()
	name, seeks := s.model.ID, s.seeks
	s.mu.Unlock()
	if !seeks {
		return nil
	}
	found, err := s.host.findModel(ctx, a, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.seeks:
		return nil
	case err != nil:
		return err
	case s.closed: // SessionOpened will tell
		s.model, s.seeks, s.newHead = found, false, true
	default:
		s.setModel(found)
	}
	return nil
}

// follow takes over a model that the agent changed by itself. What it costs is
// not known then. Called with the lock held.
func (s *Session) follow(id string) {
	if id != "" && id != s.model.ID {
		s.setModel(Model{ID: id, Name: id, Multiplier: 1})
	}
}

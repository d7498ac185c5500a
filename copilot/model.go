package copilot

import (
	"context"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
)

// findModel finds a model by id, or by display name in any case. "" means the default.
func (h *Host) findModel(ctx context.Context, a agent.Agent, name string) (agent.Model, error) {
	models, err := a.Models(ctx)
	if err != nil {
		return agent.Model{}, err
	}
	if name == "" {
		name = h.options.Model
	}
	if name == "" && len(models) > 0 {
		return models[0], nil
	}
	i := indexOf(models, name)
	if i < 0 {
		return agent.Model{}, fault.Errorf(fault.Invalid, "%w: %q", fault.ErrModelNotFound, name)
	}
	return models[i], nil
}

// CheckModel checks that a model exists. It starts an agent process if none runs. Errors: [fault.ErrModelNotFound] with the ids
// of all models, kind [fault.Unavailable] without an agent.
func (h *Host) CheckModel(ctx context.Context, name string) error {
	models, err := h.Models(ctx)
	if err != nil || indexOf(models, name) >= 0 {
		return err
	}
	ids := make([]string, 0, len(models))
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	return fault.Errorf(fault.Invalid, "%w; available: %s", fault.ErrModelNotFound, strings.Join(ids, ", "))
}

// indexOf returns the index of the model with an id or, failing that, the first with the display name; -1 if there is none.
func indexOf(models []agent.Model, name string) int {
	i := slices.IndexFunc(models, func(m agent.Model) bool { return m.ID == name })
	if i < 0 {
		i = slices.IndexFunc(models, func(m agent.Model) bool { return strings.EqualFold(m.Name, name) || strings.EqualFold(m.ID, name) })
	}
	return i
}

// SetModel changes the model, given by its id or display name, from the next prompt on. Errors: [fault.ErrModelNotFound],
// [fault.ErrSessionClosed], kind [fault.Busy] during a run.
func (s *Session) SetModel(ctx context.Context, model string) error {
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	leave, err := s.enterGate(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if err := s.activateGated(ctx); err != nil {
		return err
	}
	for changed := false; !changed; {
		if changed, err = s.tryModel(ctx, model); err != nil {
			return err
		}
	}
	return nil
}

// tryModel changes the model; false if a conversation was opened with the old one meanwhile.
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

// findModel finds a model with the session's agent process, or with any other if the session has none.
func (s *Session) findModel(ctx context.Context, l *agentLink, model string) (agent.Model, error) {
	if l != nil {
		return s.host.findModel(ctx, l.lease.Agent, model)
	}
	lease, err := s.host.pool.AcquireIn(ctx, s.directory)
	if err != nil {
		return agent.Model{}, err
	}
	defer lease.Release()
	return s.host.findModel(ctx, lease.Agent, model)
}

func (s *Session) idleLink() (*agentLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine.State() != session.Active {
		return nil, fault.ErrSessionClosed
	}
	if s.state() != StateIdle {
		return nil, fault.Errorf(fault.Busy, "the model can be changed when the current run has ended")
	}
	return s.link, nil
}

// setModel sets the model. The caller must hold the lock.
func (s *Session) setModel(m agent.Model) {
	changed := m.ID != s.model.ID
	s.model, s.modelUnresolved = m, false // even if the id is unchanged: [Session.setAgentModel] knows only the id
	s.storeHead()
	if changed {
		s.recordInRun("", event.ModelChanged{Model: m.ID})
	}
}

// resolveModel looks up the model that a client named when it started the session without an agent.
func (s *Session) resolveModel(ctx context.Context, a agent.Agent) error {
	s.mu.Lock()
	name, seeks := s.model.ID, s.modelUnresolved
	s.mu.Unlock()
	if !seeks {
		return nil
	}
	found, err := s.host.findModel(ctx, a, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.modelUnresolved:
		return nil
	case err != nil:
		return err
	case s.machine.State() != session.Active: // SessionOpened names it
		s.model, s.modelUnresolved, s.headChanged = found, false, true
	default:
		s.setModel(found)
	}
	return nil
}

// setAgentModel records that the agent changed the model, whose multiplier is unknown then. The caller must hold the lock.
func (s *Session) setAgentModel(id string) {
	if id != "" && id != s.model.ID {
		s.setModel(agent.Model{ID: id, Name: id, Multiplier: 1})
	}
}

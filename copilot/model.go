package copilot

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
)

// Models lists the models that sessions can use, the default first: those of the first agent, of which it starts a process if none runs,
// then those known of the other agents that are installed. An error of the first agent does not hide the others.
func (h *Host) Models(ctx context.Context) ([]agent.Model, error) {
	models, err := h.agents[0].models(ctx)
	for _, p := range h.agents[1:] {
		if !p.isMissing() {
			models = append(models, p.own(p.Models())...)
		}
	}
	if err != nil && (len(models) == 0 || ctx.Err() != nil) {
		return nil, err
	}
	i := indexOf(models, h.options.Model)
	if i <= 0 {
		return models, nil
	}
	return slices.Concat(models[i:i+1], models[:i], models[i+1:]), nil
}

// models asks a process of the agent, which it starts if none runs, for its models.
func (p *agentPool) models(ctx context.Context) ([]agent.Model, error) {
	lease, err := p.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	models, err := lease.Agent.Models(ctx)
	return p.own(models), err
}

// findModel finds a model of an agent by id, or by display name in any case. "" means the default.
func (h *Host) findModel(ctx context.Context, of *agentPool, a agent.Agent, name string) (agent.Model, error) {
	models, err := a.Models(ctx)
	if err != nil {
		return agent.Model{}, err
	}
	models = of.own(models)
	if name == "" && h.agentOf(h.options.Model) == of {
		name = h.options.Model
	}
	if name == "" && len(models) > 0 {
		return models[0], nil
	}
	i := of.indexOf(models, name)
	if i < 0 {
		return agent.Model{}, fault.Errorf(fault.Invalid, "%w: %q", fault.ErrModelNotFound, name)
	}
	return models[i], nil
}

// FindModel finds a model that sessions can use, by id or by display name. It starts a process of its agent if none runs. Errors:
// [fault.ErrModelNotFound] with the ids of all models, kind [fault.Unavailable] without an agent.
func (h *Host) FindModel(ctx context.Context, name string) (agent.Model, error) {
	models, err := h.Models(ctx)
	if err != nil {
		return agent.Model{}, err
	}
	if i := indexOf(models, name); i >= 0 {
		return models[i], nil
	}
	if of := h.agentOf(name); of.Name != "" { // it may have more than are known
		own, err := of.models(ctx)
		if err != nil {
			return agent.Model{}, err
		}
		if i := of.indexOf(own, name); i >= 0 {
			return own[i], nil
		}
	}
	ids := make([]string, 0, len(models))
	for _, m := range models {
		ids = append(ids, m.ID)
	}
	return agent.Model{}, fault.Errorf(fault.Invalid, "%w; available: %s", fault.ErrModelNotFound, strings.Join(ids, ", "))
}

// indexOf returns the index of a model of the agent, as the function of this name; [agent.DefaultModel] is the first.
func (p *agentPool) indexOf(models []agent.Model, name string) int {
	i := indexOf(models, name)
	if i < 0 && len(models) > 0 && p.Name != "" && name == p.Name+"/"+agent.DefaultModel {
		return 0
	}
	return i
}

// indexOf returns the index of the model with an id or, failing that, the first with the display name; -1 if there is none.
func indexOf(models []agent.Model, name string) int {
	i := slices.IndexFunc(models, func(m agent.Model) bool { return m.ID == name })
	if i < 0 {
		i = slices.IndexFunc(models, func(m agent.Model) bool { return strings.EqualFold(m.Name, name) || strings.EqualFold(m.ID, name) })
	}
	return i
}

// SetModel changes the model, given by its id or display name, from the next prompt on. A session that has not begun moves to another agent
// with its model. Errors: [fault.ErrModelNotFound], [fault.ErrSessionClosed], kind [fault.Busy] during a run, kind [fault.Invalid] for a
// model of another agent if the session has begun, and for any other model if its agent cannot change it.
func (s *Session) SetModel(ctx context.Context, model string) error {
	return s.host.commands.setModel.effect(ctx, s, model)
}

func (s *Session) setModelHere(ctx context.Context, model string) error {
	limited, cancel := context.WithTimeout(ctx, slowCommandTime)
	defer cancel()
	err := s.exclusively(limited, func(ctx context.Context) error {
		err := s.activateGated(ctx)
		for changed := false; err == nil && !changed; {
			changed, err = s.tryModel(ctx, model)
		}
		return err
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fault.Errorf(fault.Timeout, "the agent did not change the model in time; try again")
	}
	return err
}

// tryModel changes the model; false if a conversation was opened with the old one meanwhile.
func (s *Session) tryModel(ctx context.Context, model string) (changed bool, err error) {
	l, err := s.idleLink()
	if err != nil {
		return false, err
	}
	to := s.agentOf(model)
	if err := s.checkMove(to); err != nil {
		return false, err
	}
	a, release, err := s.agentFor(ctx, l, to)
	if err != nil {
		return false, err
	}
	defer release()
	ctx, cancel := context.WithTimeout(ctx, modelTimeout)
	defer cancel()
	found, err := s.host.findModel(ctx, to, a, model)
	if err != nil {
		return false, err
	}
	needsNew, err := s.needsConversation(l, to, found.ID)
	if err != nil {
		return false, err
	}
	if l != nil && !needsNew {
		if err := l.conversation.SetModel(ctx, found.ID); err != nil {
			return false, because(ctx, l.lease.Agent, err)
		}
	}
	return s.replaceModel(l, to, found, needsNew)
}

// replaceModel sets a model that was found while l was the session's link. needsNew says that the next prompt opens a new conversation.
func (s *Session) replaceModel(l *agentLink, of *agentPool, m agent.Model, needsNew bool) (changed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.link != l || l == nil && s.opening != nil {
		return false, nil
	}
	if needsNew && s.machine.Run() != nil { // its agent is being started
		return false, errModelBusy
	}
	if needsNew {
		s.machine.SetHistory(session.NeverOpened)
	}
	if needsNew && l != nil {
		l.outdated = true
	}
	s.settings.Agent = of.Name
	s.setModel(m)
	return true, nil
}

// agentOf returns the agent of a model: that of the session, if it is known to have the model, or that of the id.
func (s *Session) agentOf(model string) *agentPool {
	if own, err := s.agentPool(); err == nil && own.Name != "" && indexOf(own.Models(), model) >= 0 {
		return own
	}
	return s.host.agentOf(model)
}

// checkMove returns an error if the session has begun with another agent.
func (s *Session) checkMove(to *agentPool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings.Agent == to.Name || s.machine.History() != session.HasContent {
		return nil
	}
	return errOtherAgent(s.settings.Agent, to.Name)
}

// errOtherAgent reports that a conversation cannot move to another agent.
func errOtherAgent(from, to string) error {
	const first = "the first agent"
	return fault.Errorf(fault.Invalid, "the conversation of this session is with %s, and %s does not know it: start a new session with this model", cmp.Or(from, first), cmp.Or(to, first))
}

// needsConversation reports whether a model needs another conversation than that of the link, which may be nil.
func (s *Session) needsConversation(l *agentLink, of *agentPool, model string) (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.settings.Agent != of.Name, l != nil && l.outdated:
		return s.machine.History() != session.HasContent, nil
	case model == s.model.ID || s.settings.ModelUnresolved || of.can(agent.Switching):
		return false, nil
	case s.machine.History() == session.HasContent:
		return false, of.require(agent.Switching)
	}
	return true, nil
}

// agentFor returns the session's process of an agent, or any other if the session has none of it. The caller must call release.
func (s *Session) agentFor(ctx context.Context, l *agentLink, of *agentPool) (a agent.Agent, release func(), err error) {
	if l != nil && l.pool == of {
		return l.lease.Agent, func() {}, nil
	}
	lease, err := of.pool.AcquireIn(ctx, s.directory)
	return lease.Agent, lease.Release, err
}

var errModelBusy = fault.Errorf(fault.Busy, "the model can be changed when the current run has ended")

func (s *Session) idleLink() (*agentLink, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine.State() != session.Active {
		return nil, fault.ErrSessionClosed
	}
	if s.state() != StateIdle {
		return nil, errModelBusy
	}
	return s.link, nil
}

// setModel sets the model. The caller must hold the lock.
func (s *Session) setModel(m agent.Model) {
	changed := m.ID != s.model.ID
	s.model, s.settings.ModelUnresolved = m, false // even if the id is unchanged: [Session.setAgentModel] knows only the id
	s.storeHead()
	if changed {
		s.recordInRun("", event.ModelChanged{Model: m.ID})
	}
}

// resolveModel looks up the model that a client named when it started the session without an agent.
func (s *Session) resolveModel(ctx context.Context, of *agentPool, a agent.Agent) error {
	s.mu.Lock()
	name, seeks := s.model.ID, s.settings.ModelUnresolved
	s.mu.Unlock()
	if !seeks {
		return nil
	}
	found, err := s.host.findModel(ctx, of, a, name)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !s.settings.ModelUnresolved:
		return nil
	case err != nil:
		return err
	case s.machine.State() != session.Active: // SessionOpened names it
		s.model, s.settings.ModelUnresolved, s.unstored.head = found, false, true
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

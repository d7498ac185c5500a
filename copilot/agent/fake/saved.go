package fake

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/fault"
)

// save is the saved state of a conversation.
type save struct {
	prompts []string
	times   []time.Time // when the prompts came
	ids     int         // number of ids used
}

func (s *save) add(prompt string) {
	s.prompts, s.times = append(s.prompts, prompt), append(s.times, time.Now())
}

// until returns a copy that ends before the first prompt of a time or later; zero means all.
func (s *save) until(before time.Time) *save {
	n := len(s.prompts)
	if !before.IsZero() {
		if i := slices.IndexFunc(s.times, func(t time.Time) bool { return !t.Before(before) }); i >= 0 {
			n = i
		}
	}
	return &save{prompts: slices.Clone(s.prompts[:n]), times: slices.Clone(s.times[:n]), ids: s.ids}
}

// save appends a prompt to the saved state and returns the earlier ones.
func (a *Agents) save(session, prompt string) (past []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved(session)
	past = slices.Clone(s.prompts)
	s.add(prompt)
	return past
}

// nextID returns the next id number of a session.
func (a *Agents) nextID(session string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved(session)
	s.ids++
	return s.ids
}

// saved returns the saved state. The caller must hold the lock.
func (a *Agents) saved(session string) *save {
	s := a.saves[session]
	if s == nil {
		s = &save{}
		a.saves[session] = s
	}
	return s
}

// Remember appends prompts to the saved state of a session, as if an earlier process had received them.
func (a *Agents) Remember(session string, prompts ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved(session)
	for _, p := range prompts {
		s.add(p)
	}
}

// Saved lists the sessions with saved state.
func (a *Agents) Saved() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []string
	for id, s := range a.saves {
		if len(s.prompts) > 0 {
			list = append(list, id)
		}
	}
	slices.Sort(list)
	return list
}

// Damage makes the saved state of a session impossible to resume.
func (a *Agents) Damage(session string) {
	a.begin(session)
	a.endOrphanedQuestions(session)
}

// isNew reports whether a session has no prompts yet.
func (a *Agents) isNew(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.saved(session).prompts) == 0
}

// begin discards the saved prompts of a session that starts anew. Its ids continue, because ids are unique
// within a session.
func (a *Agents) begin(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved(session)
	s.prompts, s.times = nil, nil
}

// Fork copies the saved state.
func (p *process) Fork(ctx context.Context, session string, before time.Time) (string, error) {
	if err := p.call(ctx, Call{Method: Fork, Session: session}); err != nil {
		return "", err
	}
	a := p.agents
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saves[session]
	if s == nil || len(s.prompts) == 0 {
		return "", fault.Errorf(fault.NotFound, "nothing is saved of the session %s", session)
	}
	id := uuid.NewString()
	a.saves[id] = s.until(before)
	return id, nil
}

// Forget deletes the saved state. It fails while the conversation is open here.
func (p *process) Forget(ctx context.Context, session string) error {
	if err := p.call(ctx, Call{Method: Forget, Session: session}); err != nil {
		return err
	}
	if p.conversation(session) != nil {
		return fault.Errorf(fault.Internal, "the agent was told to forget a conversation that is open")
	}
	p.agents.endOrphanedQuestions(session)
	p.agents.mu.Lock()
	defer p.agents.mu.Unlock()
	delete(p.agents.saves, session)
	return nil
}

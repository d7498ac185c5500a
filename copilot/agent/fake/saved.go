package fake

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/fault"
)

// save is what is left of a conversation when its process has ended.
type save struct {
	prompts []string
	ids     int // given out
}

// save takes a prompt into what is saved and gives those before it.
func (a *Agents) save(session, prompt string) (past []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved(session)
	past = slices.Clone(s.prompts)
	s.prompts = append(s.prompts, prompt)
	return past
}

// nextID counts what gets an id in a session.
func (a *Agents) nextID(session string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved(session)
	s.ids++
	return s.ids
}

// saved is called with the lock held.
func (a *Agents) saved(session string) *save {
	s := a.saves[session]
	if s == nil {
		s = &save{}
		a.saves[session] = s
	}
	return s
}

// Remember takes prompts into what is saved of a session, as if it had been given
// them in an earlier life.
func (a *Agents) Remember(session string, prompts ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.saved(session)
	s.prompts = append(s.prompts, prompts...)
}

// Saved lists the sessions of which something is saved.
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

// Damage makes what is saved of a session something that cannot be taken up.
func (a *Agents) Damage(session string) {
	a.begin(session)
	a.endOrphanedQuestions(session)
}

// isNew says whether nothing was said yet in a session.
func (a *Agents) isNew(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.saved(session).prompts) == 0
}

// begin forgets what was said in a session that is not taken up but begun. Its ids
// go on, as no session has one twice.
func (a *Agents) begin(session string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.saved(session).prompts = nil
}

// Fork copies what is saved.
func (p *process) Fork(ctx context.Context, session string) (string, error) {
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
	a.saves[id] = &save{prompts: slices.Clone(s.prompts), ids: s.ids}
	return id, nil
}

// Forget deletes what is saved. It fails while the conversation is open here.
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

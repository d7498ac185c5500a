package fake

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Agents starts scripted agents and holds their shared state, like the disk of real ones. It is safe for
// concurrent use. Set its fields only while no agent is working.
type Agents struct {
	// Script is the reaction to each prompt; nil means [Echo].
	Script func(*Turn)
	// Reply answers questions outside of the conversation; nil means that the agent cannot.
	Reply func(question string) (string, error)
	// Models, Account and Extensions are returned by the methods of the same name. Extensions also has the servers that
	// AddServer added.
	Models     []agent.Model
	Account    agent.Account
	Extensions agent.Extensions
	// Before, if not nil, is called when a call arrives, before it takes effect. Its error is returned by the
	// call. It may block to simulate a slow agent: ctx ends when the caller gives up or the process dies.
	// [HangForever] simulates an agent that never answers.
	Before func(ctx context.Context, c Call) error
	// Dying is the time between the death of a process and the closing of Done.
	Dying time.Duration

	work sync.WaitGroup // processes and scripts

	mu        sync.Mutex
	closed    bool
	calls     []Call
	launches  int
	processes []*process // not yet done
	turns     []*Turn    // with running scripts, including those of dead processes
	held      int        // conversations that were opened and not closed
	saves     map[string]*save
	servers   map[string]agent.ServerConfig // that were added
	disabled  map[string]bool               // servers and skills, by kind and name
	health    agent.Health
	watched   probes
}

// New returns agents that list two models, "model-a" and "model-b". The caller must close them.
func New() *Agents {
	return &Agents{
		Models: []agent.Model{
			{ID: "model-a", Name: "Model A", Multiplier: 1},
			{ID: "model-b", Name: "Model B", Multiplier: 0.25},
		},
		saves:    map[string]*save{},
		servers:  map[string]agent.ServerConfig{},
		disabled: map[string]bool{},
		health:   agent.Health{State: agent.HealthUnknown},
	}
}

// NewHost creates a host that uses these agents. Close the host first.
func (a *Agents) NewHost(o copilot.Options) *copilot.Host {
	o.Launch, o.Health = a.Launch, a.Health
	return copilot.NewHost(o)
}

// Launch starts a process; it is an [agent.Launch].
func (a *Agents) Launch(ctx context.Context) (agent.Agent, error) {
	a.mu.Lock()
	a.launches++
	p := newProcess(a, a.launches)
	a.mu.Unlock()
	if err := a.received(ctx, Call{Process: p.number, Method: Launch}); err != nil {
		a.SetHealth(agent.HealthFailed)
		return nil, fault.Errorf(fault.Unavailable, "the agent did not start: %w", err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return nil, fault.Errorf(fault.Unavailable, "the agents of this test are closed")
	}
	a.processes = append(a.processes, p)
	a.work.Go(p.supervise)
	a.health.State = agent.HealthReady
	return p, nil
}

// Health returns the result of the last start, for [copilot.Options].
func (a *Agents) Health() agent.Health {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.health
}

// SetHealth sets what Health returns until the next start.
func (a *Agents) SetHealth(s agent.HealthState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.health.State = s
}

// Held returns the number of conversations that were opened and not closed, including those of processes that have ended.
func (a *Agents) Held() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.held
}

func (a *Agents) addHeld(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.held += n
}

// Running returns the number of processes.
func (a *Agents) Running() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.processes)
}

// Kill kills processes: those with these numbers, counted from 1 in the order of their launches, or all. Done
// is closed a little later.
func (a *Agents) Kill(numbers ...int) {
	a.mu.Lock()
	processes := slices.Clone(a.processes)
	a.mu.Unlock()
	for _, p := range processes {
		if len(numbers) == 0 || slices.Contains(numbers, p.number) {
			p.die()
		}
	}
}

// Emit sends events without a prompt in the conversation of a session, if there is one.
func (a *Agents) Emit(session string, bodies ...event.Body) {
	a.mu.Lock()
	processes := slices.Clone(a.processes)
	a.mu.Unlock()
	for _, p := range processes {
		if c := p.conversation(session); c != nil {
			c.emitUnasked(bodies)
		}
	}
}

// Close kills all processes and waits for all goroutines.
func (a *Agents) Close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.Kill()
	a.endOrphanedQuestions("")
	a.work.Wait()
}

func (a *Agents) forget(p *process) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.processes = slices.DeleteFunc(a.processes, func(other *process) bool { return other == p })
}

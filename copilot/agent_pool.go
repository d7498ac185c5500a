package copilot

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// NamedAgent is an agent besides the first one of a [Host]. The ids of its models begin with its name and a slash; sessions with such a
// model run on it.
type NamedAgent struct {
	Name         string
	Launch       agent.Launch
	Health       func() agent.Health
	Models       func() []agent.Model // those known without starting it, at least one
	Capabilities func() []agent.Capability
	Pool         agent.PoolOptions
}

// agentPool is an agent with its processes. The first one has no name.
type agentPool struct {
	NamedAgent

	pool *agent.Pool

	mu   sync.Mutex
	left []string // deleted sessions whose copies the agent still has; see [agentPool.forget]
}

// newPools returns the pools of all agents, the first one first.
func newPools(o Options) []*agentPool {
	first := &agentPool{NamedAgent: NamedAgent{Launch: o.Launch, Health: o.Health, Capabilities: o.Capabilities}, pool: agent.NewPool(o.Launch, o.Pool)}
	if o.LaunchIn != nil {
		first.pool = agent.NewDividedPool(o.LaunchIn, o.Pool)
	}
	pools := []*agentPool{first}
	for _, a := range o.Agents {
		a.Pool.Log = cmp.Or(a.Pool.Log, o.Log)
		pools = append(pools, &agentPool{NamedAgent: a, pool: agent.NewPool(a.Launch, a.Pool)})
	}
	return pools
}

// isMissing reports whether the agent's program is not installed.
func (p *agentPool) isMissing() bool { return p.Health().State == agent.HealthMissing }

func (p *agentPool) can(c agent.Capability) bool { return slices.Contains(p.Capabilities(), c) }

// require returns an error of kind [fault.Invalid] if the agent lacks a capability.
func (p *agentPool) require(c agent.Capability) error {
	if p.can(c) {
		return nil
	}
	return agent.Cannot(p.Name, c.Operation())
}

// requireTools is require for the use of client tools, if there are any.
func (p *agentPool) requireTools(tools []event.Tool) error {
	if len(tools) == 0 {
		return nil
	}
	return p.require(agent.ClientTools)
}

// own returns models with the name of their agent.
func (p *agentPool) own(models []agent.Model) []agent.Model {
	models = slices.Clone(models)
	for i := range models {
		models[i].Agent = p.Name
	}
	return models
}

// TryAgent starts a process of the agent with a name, if none runs, and asks it for its models.
func (h *Host) TryAgent(ctx context.Context, name string) error {
	p, err := h.agentNamed(name)
	if err == nil {
		_, err = p.models(ctx)
	}
	return err
}

// AgentHealth is the health of an agent with a name.
type AgentHealth struct {
	Name string
	agent.Health
}

// OtherAgents reports the health of the agents besides the first one, without starting them.
func (h *Host) OtherAgents() []AgentHealth {
	list := make([]AgentHealth, 0, len(h.agents)-1)
	for _, p := range h.agents[1:] {
		list = append(list, AgentHealth{p.Name, p.Health()})
	}
	return list
}

// first returns the pool of the first agent, which has the account, the MCP servers and the skills of the portal.
func (h *Host) first() *agent.Pool { return h.agents[0].pool }

// agentOf returns the agent that runs sessions with a model; "" means the default model. Unknown models belong to the first agent.
func (h *Host) agentOf(model string) *agentPool {
	if model = cmp.Or(model, h.options.Model); model == "" {
		return h.defaultAgent()
	}
	name, _, isQualified := strings.Cut(model, "/")
	for _, p := range h.agents[1:] {
		if isQualified && strings.EqualFold(p.Name, name) {
			return p
		}
	}
	return h.agents[0]
}

// defaultAgent returns the first agent that is installed, or else the first one.
func (h *Host) defaultAgent() *agentPool {
	if len(h.agents) == 1 {
		return h.agents[0]
	}
	if i := slices.IndexFunc(h.agents, func(p *agentPool) bool { return !p.isMissing() }); i >= 0 {
		return h.agents[i]
	}
	return h.agents[0]
}

// agentNamed returns the agent with a name. It may have been configured only when its session started.
func (h *Host) agentNamed(name string) (*agentPool, error) {
	for _, p := range h.agents {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fault.Errorf(fault.Unavailable, "the agent %q of this session is not configured: add it to agents in the configuration and start the portal again", name)
}

// AgentCan reports whether the agent with a name is configured and can do something.
func (h *Host) AgentCan(name string, c agent.Capability) bool {
	p, err := h.agentNamed(name)
	return err == nil && p.can(c)
}

// Capabilities returns what the session's agent can do; nothing if it is no longer configured.
func (s *Session) Capabilities() []agent.Capability {
	p, err := s.agentPool()
	if err != nil {
		return nil
	}
	return p.Capabilities()
}

// questionsContinue reports whether open questions survive the death of the agent's process. The caller must hold the lock.
func (s *Session) questionsContinue() bool {
	return s.host.AgentCan(s.settings.Agent, agent.Continuing)
}

// agentPool returns the agent of the session. The error has kind [fault.Unavailable] if it is no longer configured.
func (s *Session) agentPool() (*agentPool, error) {
	s.mu.Lock()
	name := s.settings.Agent
	s.mu.Unlock()
	return s.host.agentNamed(name)
}

// requireCapability returns an error of kind [fault.Invalid] if the session's agent lacks a capability.
func (s *Session) requireCapability(c agent.Capability) error {
	p, err := s.agentPool()
	if err != nil {
		return err
	}
	return p.require(c)
}

// adapt returns a prompt as the session's agent can receive it: without steering, a prompt is queued. Errors: kind [fault.Invalid] if the
// agent cannot receive it.
func (s *Session) adapt(p event.Prompt) (event.Prompt, error) {
	a, err := s.agentPool()
	if err != nil {
		return p, err
	}
	p.Steer = p.Steer && a.can(agent.Steering)
	switch {
	case p.Compact:
		err = a.require(agent.Compaction)
	case p.Mode != "" && p.Mode != event.ModeInteractive:
		err = a.require(agent.Modes)
	}
	if err == nil && p.Tools != nil {
		err = a.requireTools(*p.Tools)
	}
	return p, err
}

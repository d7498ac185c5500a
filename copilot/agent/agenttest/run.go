package agenttest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
)

// rule is a rule that every agent must obey.
type rule struct {
	name    string
	needs   []agent.Capability
	do      func(*ruleContext) // the check for agents with the capabilities
	without func(*ruleContext) // the check for agents without one of them; nil means that only the rules of events apply
}

// ruleContext is the environment of a rule.
type ruleContext struct {
	testing.TB
	subject       Subject
	machine       Machine
	agent         agent.Agent
	launch        func() agent.Agent
	conversations []*testConversation
}

// Time limits for calls that should return at once on a busy machine, for all work of the model, for the
// absence of events, and for an agent to save a conversation.
const (
	soon   = 3 * time.Second
	late   = time.Minute // some agents take 20 s to start on a busy machine
	quiet  = 30 * time.Millisecond
	saving = time.Second
)

// Run checks that an agent conforms.
func Run(t *testing.T, s Subject) {
	t.Helper()
	conversations := slices.Concat(promptRules(), abortRules(), questionRules(), toolRules(), serverRules(), planRules(), conversationRules(), savedRules())
	processes := processRules()
	if s.Virtual {
		for _, r := range pendingRules() {
			processes = append(processes, r.alone())
		}
		for _, r := range slices.Concat(conversations, processes) {
			t.Run(r.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					m := s.Machine(t)
					s.checkRule(t, t, r, m, launch(t, t, m))
				})
			})
		}
		return
	}
	machine := s.Machine(t)
	t.Run("conversations", func(t *testing.T) {
		t.Parallel()
		agent := launch(t, t, machine)
		for _, r := range conversations {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				s.checkRule(t, t, r, machine, agent)
			})
		}
	})
	t.Run("pending questions", func(t *testing.T) {
		t.Parallel()
		s.checkPending(t, machine)
	})
	for i := range lanes {
		t.Run(fmt.Sprintf("processes %d", i+1), func(t *testing.T) {
			t.Parallel()
			s.checkRules(t, processes[i*len(processes)/lanes:(i+1)*len(processes)/lanes], machine)
		})
	}
}

// lanes is the number of agents for the rules about processes, which run in sequence on each.
const lanes = 2

// checkRules checks rules. It starts another agent whenever one has ended.
func (s Subject) checkRules(t *testing.T, rules []rule, m Machine) {
	t.Helper()
	running := launch(t, t, m)
	for _, r := range rules {
		if agent.IsClosed(running.Done()) {
			running = launch(t, t, m)
		}
		t.Run(r.name, func(sub *testing.T) { running = s.checkRule(sub, t, r, m, running) })
	}
}

// checkRule checks a rule and returns the agent that is alive afterwards, until the end of owner.
func (s Subject) checkRule(t, owner *testing.T, r rule, m Machine, a agent.Agent) agent.Agent {
	t.Helper()
	st := s.context(t, owner, m, a)
	do := r.do
	if s.lacks(r.needs) {
		if do = r.without; do == nil {
			t.Skip("the agent does not declare this capability")
		}
	}
	do(st)
	st.finish()
	return st.agent
}

// context returns the environment of a rule, whose agents are stopped at the end of owner.
func (s Subject) context(t, owner *testing.T, m Machine, a agent.Agent) *ruleContext {
	t.Helper()
	return &ruleContext{TB: t, subject: s, machine: m, agent: a, launch: func() agent.Agent { return launch(t, owner, m) }}
}

// finish checks the conversations as a whole and closes them.
func (s *ruleContext) finish() {
	s.Helper()
	for _, c := range s.conversations {
		c.finish()
	}
}

// lacks reports whether the agent does not have all the capabilities.
func (s Subject) lacks(needs []agent.Capability) bool {
	return slices.ContainsFunc(needs, func(a agent.Capability) bool { return !s.can(a) })
}

func (s Subject) can(a agent.Capability) bool { return slices.Contains(s.Can, a) }

// launch starts an agent that is stopped at the end of owner.
func launch(t, owner *testing.T, m Machine) agent.Agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), late)
	defer cancel()
	a, err := m.Launch(ctx)
	if err != nil {
		t.Fatalf("the agent does not start: %v", err)
	}
	owner.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		a.Stop(ctx)
	})
	return a
}

// mustSucceed fails the test if a call failed.
func (s *ruleContext) mustSucceed(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("unexpected error: %v", err)
	}
}

// fails fails the test if a call succeeded.
func (s *ruleContext) fails(what string, err error) {
	s.Helper()
	if err == nil {
		s.Errorf("%s does not fail", what)
	}
}

// contains checks that a text contains another.
func (s *ruleContext) contains(text, part string) {
	s.Helper()
	if !strings.Contains(text, part) {
		s.Errorf("%q is not in %q", part, text)
	}
}

// lacks checks that a text does not contain another.
func (s *ruleContext) lacks(text, part string) {
	s.Helper()
	if strings.Contains(text, part) {
		s.Errorf("%q is in %q", part, text)
	}
}

// shortContext returns a context for a call that must return at once.
func (s *ruleContext) shortContext() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), late)
	s.Cleanup(cancel)
	return ctx
}

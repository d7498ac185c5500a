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

// rule is a sentence that holds for every agent.
type rule struct {
	name    string
	needs   []Capability
	do      func(*ruleContext) // what to see if the agent has the abilities
	without func(*ruleContext) // what to see if it lacks one; nil: nothing but the sentence about events holds
}

// ruleContext is where a rule is seen to hold.
type ruleContext struct {
	testing.TB
	subject       Subject
	machine       Machine
	agent         agent.Agent
	launch        func() agent.Agent
	conversations []*testConversation
}

// Time limits: of what is done at once, on a machine that has much else to do;
// of all that the model does; how long to listen for what must not come; and how long an agent
// may take to save what was said.
const (
	soon   = 3 * time.Second
	late   = 20 * time.Second
	quiet  = 30 * time.Millisecond
	saving = time.Second
)

// Run proves that an agent conforms.
func Run(t *testing.T, s Subject) {
	t.Helper()
	conversations := slices.Concat(promptRules(), abortRules(), questionRules(), toolRules(), planRules(), conversationRules(), savedRules())
	processes := slices.Concat(processRules(), pendingRules())
	if s.Virtual {
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
	for i := range lanes {
		t.Run(fmt.Sprintf("processes %d", i+1), func(t *testing.T) {
			t.Parallel()
			s.checkRules(t, processes[i*len(processes)/lanes:(i+1)*len(processes)/lanes], machine)
		})
	}
}

// lanes is how many agents there are for the rules about processes, which follow
// one another on each.
const lanes = 3

// checkRules looks whether rules hold, with another agent whenever one has ended.
func (s Subject) checkRules(t *testing.T, rules []rule, m Machine) {
	t.Helper()
	agent := launch(t, t, m)
	for _, r := range rules {
		if over(agent) {
			agent = launch(t, t, m)
		}
		t.Run(r.name, func(sub *testing.T) { agent = s.checkRule(sub, t, r, m, agent) })
	}
}

// over says whether an agent has ended.
func over(a agent.Agent) bool {
	select {
	case <-a.Done():
		return true
	default:
		return false
	}
}

// checkRule looks whether a rule holds, and gives the agent that lives then, up to the
// end of owner.
func (s Subject) checkRule(t, owner *testing.T, r rule, m Machine, a agent.Agent) agent.Agent {
	t.Helper()
	st := &ruleContext{TB: t, subject: s, machine: m, agent: a, launch: func() agent.Agent { return launch(t, owner, m) }}
	do := r.do
	if slices.ContainsFunc(r.needs, func(a Capability) bool { return !s.can(a) }) {
		if do = r.without; do == nil {
			t.Skip("it cannot do that")
		}
	}
	do(st)
	for _, c := range st.conversations {
		c.finish()
	}
	return st.agent
}

func (s Subject) can(a Capability) bool { return slices.Contains(s.Can, a) }

// launch starts an agent that ends with owner.
func launch(t, owner *testing.T, m Machine) agent.Agent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), late)
	defer cancel()
	a, err := m.Launch(ctx)
	if err != nil {
		t.Fatalf("it does not start: %v", err)
	}
	owner.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), soon)
		defer cancel()
		a.Stop(ctx)
	})
	return a
}

// mustSucceed is for calls that have to work.
func (s *ruleContext) mustSucceed(err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("it fails: %v", err)
	}
}

// fails is for calls that have to fail.
func (s *ruleContext) fails(what string, err error) {
	s.Helper()
	if err == nil {
		s.Errorf("%s does not fail", what)
	}
}

// contains looks for a text in another.
func (s *ruleContext) contains(text, part string) {
	s.Helper()
	if !strings.Contains(text, part) {
		s.Errorf("%q is not in %q", part, text)
	}
}

// lacks looks that a text is not in another.
func (s *ruleContext) lacks(text, part string) {
	s.Helper()
	if strings.Contains(text, part) {
		s.Errorf("%q is in %q", part, text)
	}
}

// shortContext gives a context for a call that ends at once.
func (s *ruleContext) shortContext() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), late)
	s.Cleanup(cancel)
	return ctx
}

package agenttest

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// serverRules returns the rules of MCP servers that a conversation has for itself.
func serverRules() []rule {
	return []rule{
		{name: "a conversation has the servers of its opening", needs: []agent.Capability{agent.Servers}, do: serversOpened, without: serversAreReported},
		{name: "a resumed conversation has the servers passed when it is opened", needs: []agent.Capability{agent.Servers, agent.Resuming}, do: serversAfterResume},
	}
}

// withServer adds a server that cannot start: whether it works is a matter of each agent.
func withServer(o *agent.Opening) {
	o.Servers = []agent.ServerConfig{{Name: "shop", Command: "/nothing/there", Args: []string{"-x"}, Env: map[string]string{"KEY": "s3cret"}}}
}

func (c *testConversation) hasShop() bool {
	c.Helper()
	x, err := c.Extensions(c.shortContext())
	c.mustSucceed(err)
	return slices.ContainsFunc(x.Servers, func(s event.Server) bool { return s.Name == "shop" })
}

func serversOpened(s *ruleContext) {
	c, other := s.open(withServer), s.open(nil)
	if !c.hasShop() {
		s.Errorf("the conversation has no server")
	}
	if other.hasShop() {
		s.Errorf("another conversation has the server")
	}
	s.contains(said(c.run(Say{"a heron"})), "a heron") // although the server does not start
}

func serversAreReported(s *ruleContext) {
	c := s.open(withServer)
	if failed := one[event.SessionError](s, c.all()); failed.Kind != fault.Invalid || failed.Text == "" {
		s.Errorf("the conversation reports %+v", failed)
	}
	s.contains(said(c.run(Say{"a heron"})), "a heron")
}

func serversAfterResume(s *ruleContext) {
	c := s.open(withServer)
	c.run(Say{"a heron"})
	c.close()
	without := s.open(func(o *agent.Opening) { *o = c.opening; o.Resume, o.Servers = true, nil })
	if without.hasShop() {
		s.Errorf("the agent saves the server")
	}
	without.close()
	if again := s.open(func(o *agent.Opening) { *o = c.opening; o.Resume = true }); !again.hasShop() {
		s.Errorf("the resumed conversation has no server")
	}
}

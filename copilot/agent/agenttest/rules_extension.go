package agenttest

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// serverName is that of a server.
const serverName = "heron <b>"

func serversAreStored(s *ruleContext) {
	store := s.agent
	config := agent.ServerConfig{Name: serverName, Command: "/nothing/there", Args: []string{"-x", "a b"}, Env: map[string]string{"KEY": "s3cret"}}
	s.mustSucceed(store.AddServer(s.shortContext(), config))
	if err := store.AddServer(s.shortContext(), config); fault.KindOf(err) != fault.Invalid {
		s.Errorf("a name is taken twice: %v", err)
	}
	web := agent.ServerConfig{Name: "web", URL: "http://127.0.0.1:9/mcp", Headers: map[string]string{"Authorization": "s3cret"}}
	s.mustSucceed(store.AddServer(s.shortContext(), web))
	list, err := store.Servers(s.shortContext())
	s.mustSucceed(err)
	at := slices.IndexFunc(list, func(c agent.ServerConfig) bool { return c.Name == serverName })
	if at < 0 || list[at].Command != config.Command || !slices.Equal(list[at].Args, config.Args) || len(list[at].Env) != 1 || list[at].Env["KEY"] != "" {
		s.Fatalf("the server is missing, different, or with its secret: %+v", list)
	}
	if i := slices.IndexFunc(list, func(c agent.ServerConfig) bool { return c.Name == "web" }); i < 0 || list[i].URL != web.URL || len(list[i].Headers) != 1 || list[i].Headers["Authorization"] != "" {
		s.Errorf("the server at a URL is missing, different, or with its secret: %+v", list)
	}
	s.hasServer(event.ServerConfigured)
	s.mustSucceed(store.EnableServer(s.shortContext(), serverName, false))
	s.hasServer(event.ServerDisabled)
	s.mustSucceed(store.EnableServer(s.shortContext(), serverName, true))
	s.hasServer(event.ServerConfigured)
	s.mustSucceed(store.EnableServer(s.shortContext(), serverName, false))
	s.mustSucceed(store.RemoveServer(s.shortContext(), serverName))
	s.mustSucceed(store.RemoveServer(s.shortContext(), "web"))
	if err := store.RemoveServer(s.shortContext(), serverName); fault.KindOf(err) != fault.Invalid {
		s.Errorf("a server is removed twice: %v", err)
	}
	s.mustSucceed(store.AddServer(s.shortContext(), config))
	s.hasServer(event.ServerConfigured) // it was removed while it was disabled
	s.mustSucceed(store.RemoveServer(s.shortContext(), serverName))
}

// hasServer checks the state of the server in new conversations.
func (s *ruleContext) hasServer(state event.ServerState) {
	s.Helper()
	x, err := s.agent.Extensions(s.shortContext(), s.TempDir())
	s.mustSucceed(err)
	if !slices.ContainsFunc(x.Servers, func(v event.Server) bool { return v.Name == serverName && v.State == state }) {
		s.Errorf("%q is not %s: %+v", serverName, state, x.Servers)
	}
}

package copilot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
)

// serversNamed returns MCP servers of a client.
func serversNamed(names ...string) (list []agent.ServerConfig) {
	for _, n := range names {
		list = append(list, agent.ServerConfig{Name: n, Command: n, Env: map[string]string{"KEY": "s3cret"}})
	}
	return list
}

// serversOpened lists the servers of the opened conversations.
func serversOpened(agents *fake.Agents) (list [][]string) {
	for _, c := range agents.Calls(fake.Open) {
		var names []string
		for _, s := range c.Opening.Servers {
			names = append(names, s.Name)
		}
		list = append(list, names)
	}
	return list
}

// lastOpened lists the servers of the conversation that was opened last.
func lastOpened(agents *fake.Agents) []string {
	all := serversOpened(agents)
	return all[len(all)-1]
}

func (w *world) startServers(names ...string) *copilot.Session {
	w.t.Helper()
	s, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Servers: serversNamed(names...)})
	require.NoError(w.t, err)
	w.sessions = append(w.sessions, s)
	return s
}

func TestServersOfClientsAreReplaced(t *testing.T) {
	inWorld(t, "from the next prompt on", copilot.Options{}, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { t.Wait(time.Minute) }
		s := w.startServers("b", "a")
		w.prompt(s, "x")
		wait(time.Second)
		require.NoError(w.t, s.SetServers(serversNamed("c")))
		wait(time.Hour)
		assert.Equal(w.t, [][]string{{"a", "b"}}, serversOpened(w.agents), "the current run keeps the old ones")
		w.prompt(s, "y")
		wait(time.Hour)
		require.NoError(w.t, s.SetServers(nil))
		w.prompt(s, "z")
		wait(time.Hour)
		require.Equal(w.t, [][]string{{"a", "b"}, {"c"}, nil}, serversOpened(w.agents))
		assert.True(w.t, w.agents.Calls(fake.Open)[2].Opening.Resume, "the conversation continues")
	})
	inWorld(t, "unless they are equal, in any order", copilot.Options{}, func(w *world) {
		s := w.startServers("b", "a")
		require.NoError(w.t, s.SetServers(serversNamed("a", "b")))
		w.run(s, "x")
		wait(time.Hour)
		assert.Equal(w.t, 1, w.agents.Count(fake.Open))
		for _, changed := range []agent.ServerConfig{
			{Name: "b", Command: "other", Env: map[string]string{"KEY": "s3cret"}},
			{Name: "b", Command: "b", Env: map[string]string{"KEY": "other"}},
			{Name: "b", Command: "b", Args: []string{"x"}},
			{Name: "b", URL: "http://b"},
			{Name: "b", URL: "http://b", SSE: true},
			{Name: "b", URL: "http://b", Headers: map[string]string{"A": "b"}},
		} {
			before := w.agents.Count(fake.Open)
			require.NoError(w.t, s.SetServers(append(serversNamed("a"), changed)))
			w.run(s, "x")
			wait(time.Hour)
			assert.Equal(w.t, before+1, w.agents.Count(fake.Open), "%+v", changed)
		}
	})
	inWorld(t, "before the agent was started", copilot.Options{}, func(w *world) {
		s := w.later("")
		require.NoError(w.t, s.SetServers(serversNamed("a")))
		w.run(s, "x")
		wait(time.Hour)
		assert.Equal(w.t, [][]string{{"a"}}, serversOpened(w.agents))
	})
}

func TestInvalidServersOfClientsAreRejected(t *testing.T) {
	inWorld(t, "with the name of the server", copilot.Options{}, func(w *world) {
		s := w.startServers("a")
		for want, list := range map[string][]agent.ServerConfig{
			`MCP server "b": the server needs either`: {{Name: "b"}},
			"needs a name":                      {{Command: "b"}},
			"two MCP servers with the name":     serversNamed("b", "b"),
			"the transport SSE belong to a URL": {{Name: "b", Command: "b", SSE: true}},
		} {
			err := s.SetServers(list)
			assert.Equal(w.t, fault.Invalid, fault.KindOf(err))
			require.ErrorContains(w.t, err, want)
			_, err = w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory, Servers: list})
			require.ErrorContains(w.t, err, want)
		}
		err := w.host.AddServer(w.t.Context(), agent.ServerConfig{Name: "b", URL: "http://b", SSE: true})
		require.ErrorContains(w.t, err, "cannot be stored")
		w.run(s, "x")
		wait(time.Hour)
		assert.Equal(w.t, [][]string{{"a"}}, serversOpened(w.agents), "the session keeps its servers")
	})
}

func TestServersOfClientsAreCopiedToForks(t *testing.T) {
	inWorld(t, "and replaced there alone", copilot.Options{}, func(w *world) {
		s := w.startServers("a")
		w.run(s, "x")
		wait(time.Hour)
		fork, err := w.host.Fork(w.t.Context(), s.ID(), copilot.Cut{})
		require.NoError(w.t, err)
		require.NoError(w.t, fork.SetServers(serversNamed("b")))
		w.run(fork, "y")
		wait(time.Hour)
		w.run(s, "z")
		wait(time.Hour)
		assert.Equal(w.t, [][]string{{"a"}, {"a"}, {"b"}}, serversOpened(w.agents))
	})
}

func TestServersOfClientsAreNotStored(t *testing.T) {
	atHome(t, "but outlive the session's time in memory", func(h *home) {
		p := h.portalWith(copilot.Options{MaxClosed: 1, Limits: copilot.Limits{Idle: time.Minute}})
		s, err := p.host.Start(h.t.Context(), copilot.Start{Directory: h.work, Servers: serversNamed("a")})
		require.NoError(h.t, err)
		prompt(h.t, s, "first")
		settle()
		p.dropFromMemory(s)
		before := h.agents.Count(fake.Open)
		prompt(h.t, p.session(s.ID()), "second")
		settle()
		p.stop()
		assert.Equal(h.t, [][]string{{"a"}}, serversOpened(h.agents)[before:])
		p = h.portal()
		defer p.stop()
		prompt(h.t, p.session(s.ID()), "third")
		settle()
		assert.Empty(h.t, lastOpened(h.agents), "in another process")
		require.NoError(h.t, p.session(s.ID()).SetServers(serversNamed("b")))
		prompt(h.t, p.session(s.ID()), "fourth")
		settle()
		assert.Equal(h.t, []string{"b"}, lastOpened(h.agents))
	})
}

package sdk_test

import (
	"net/http"
	"slices"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

func signInToServer(w whole) {
	v := w.start(func(s *copilot.Start) { s.Policy = permission.Policy{"mcp.vault": permission.Allow} })
	v.run(text("say `hello`"))
	assert.Equal(w, event.ServerSignIn, v.settled("vault").State)
	address, err := v.SignIn(w.Context(), "vault")
	require.NoError(w, err)
	response, err := http.Get(address) // as a browser does
	require.NoError(w, err)
	require.NoError(w, response.Body.Close())
	assert.Equal(w, http.StatusOK, response.StatusCode)
	for changed := event.ServerPending; changed != event.ServerConnected; {
		c, _ := next[event.ServerChanged](v)
		if c.Server.Name == "vault" {
			changed = c.Server.State
		}
	}
	assert.Equal(w, event.ServerConnected, v.server("vault").State)
	assert.Contains(w, v.run(text("call `vault-look`")), "there is gold")
	_, err = v.SignIn(w.Context(), "nobody")
	require.ErrorContains(w, err, "nobody")
}

func checkServers(w whole) {
	w = newWhole(w.T) // with its own sign-in
	dir := w.TempDir()
	state := func(name string) event.Server {
		list, err := w.host.CheckServers(w.Context(), dir)
		require.NoError(w, err)
		i := slices.IndexFunc(list, func(s event.Server) bool { return s.Name == name })
		require.GreaterOrEqual(w, i, 0, "%+v", list)
		return list[i]
	}
	assert.Equal(w, event.ServerConnected, state("desk").State)
	assert.Equal(w, event.ServerFailed, state("gone").State)
	require.NoError(w, w.host.AddServer(w.Context(), agent.ServerConfig{Name: "noisy", Command: "/bin/sh", Args: []string{"-c", "echo there is no key >&2; exit 3"}}))
	assert.Contains(w, state("noisy").Error, "there is no key", "what it wrote last")
	assert.Equal(w, event.ServerSignIn, state("vault").State)
	address, err := w.host.SignInToServer(w.Context(), dir, "vault")
	require.NoError(w, err)
	response, err := http.Get(address) // as a browser does
	require.NoError(w, err)
	require.NoError(w, response.Body.Close())
	for state("vault").State != event.ServerConnected {
		require.NoError(w, w.Context().Err())
	}
	_, err = w.host.SignInToServer(w.Context(), dir, "nobody")
	require.ErrorContains(w, err, "nobody")
}

// settled returns a server that is no longer connecting.
func (v *viewer) settled(name string) event.Server {
	v.Helper()
	for v.server(name).State == event.ServerPending {
		next[event.ServerChanged](v)
	}
	return v.server(name)
}

func (v *viewer) server(name string) event.Server {
	v.Helper()
	x, err := v.Extensions(v.Context())
	require.NoError(v, err)
	for _, s := range x.Servers {
		if s.Name == name {
			return s
		}
	}
	require.FailNow(v, "there is no such server", "%s in %+v", name, x.Servers)
	return event.Server{}
}

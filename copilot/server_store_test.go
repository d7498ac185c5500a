package copilot_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

func TestServersAreAddedDisabledAndRemoved(t *testing.T) {
	inWorld(t, "of the user", copilot.Options{}, func(w *world) {
		w.agents.Extensions = agent.Extensions{Servers: []event.Server{{Name: "project", State: event.ServerConfigured, Source: "workspace"}}, Skills: []agent.Skill{{Name: "pdf", Enabled: true}}}
		ctx := w.t.Context()
		require.NoError(w.t, w.host.AddServer(ctx, agent.ServerConfig{
			Name: "desk", Command: "desk", Args: []string{"--api-key", "abc", "--token=def", "--port", "1"}, Env: map[string]string{"KEY": "s3cret"},
		}))
		require.NoError(w.t, w.host.AddServer(ctx, agent.ServerConfig{Name: "web", URL: "https://example.com/mcp?key=s3cret&v", Headers: map[string]string{"Authorization": "s3cret"}}))
		list, err := w.host.Servers(ctx, w.directory)
		require.NoError(w.t, err)
		assert.Equal(w.t, []copilot.ServerSetup{
			{Server: event.Server{Name: "project", State: event.ServerConfigured, Source: "workspace"}},
			{
				Server: event.Server{Name: "desk", State: event.ServerConfigured, Source: "user", Transport: "stdio"},
				Config: &agent.ServerConfig{Name: "desk", Command: "desk", Args: []string{"--api-key", "***", "--token=***", "--port", "1"}, Env: map[string]string{"KEY": ""}, Headers: map[string]string{}},
			},
			{
				Server: event.Server{Name: "web", State: event.ServerConfigured, Source: "user", Transport: "http"},
				Config: &agent.ServerConfig{Name: "web", Args: []string{}, URL: "https://example.com/mcp?key=***&v", Env: map[string]string{}, Headers: map[string]string{"Authorization": ""}},
			},
		}, list, "without secrets")

		require.NoError(w.t, w.host.EnableServer(ctx, w.directory, "project", false))
		require.NoError(w.t, w.host.EnableSkill(ctx, w.directory, "pdf", false))
		x, err := w.host.Extensions(ctx, w.directory)
		require.NoError(w.t, err)
		assert.Equal(w.t, event.ServerDisabled, x.Servers[0].State)
		assert.False(w.t, x.Skills[0].Enabled)
		for _, err := range []error{
			w.host.EnableServer(ctx, w.directory, "nobody", false), w.host.EnableSkill(ctx, w.directory, "nobody", false), w.host.RemoveServer(ctx, "nobody"),
		} {
			assert.Equal(w.t, fault.Invalid, fault.KindOf(err), "%v", err)
		}
		require.NoError(w.t, w.host.RemoveServer(ctx, "desk"))
		checked, err := w.host.CheckServers(ctx, w.directory)
		require.NoError(w.t, err)
		require.Len(w.t, checked, 2)
		assert.Equal(w.t, event.ServerConnected, checked[1].State)
		assert.Equal(w.t, 1, w.agents.Count(fake.Forget), "nothing stays of the check")
	})
}

func TestInvalidServersAreRejected(t *testing.T) {
	inWorld(t, "no agent is started", copilot.Options{}, func(w *world) {
		for why, c := range map[string]agent.ServerConfig{
			"no name":            {Command: "x"},
			"a name of lines":    {Name: "a\nb", Command: "x"},
			"a long name":        {Name: strings.Repeat("x", 101), Command: "x"},
			"neither":            {Name: "a"},
			"both":               {Name: "a", Command: "x", URL: "https://x"},
			"another scheme":     {Name: "a", URL: "file:///x"},
			"no host":            {Name: "a", URL: "https://"},
			"arguments of a URL": {Name: "a", URL: "https://x", Args: []string{"y"}},
			"a null character":   {Name: "a", Command: "x", Args: []string{"\x00"}},
			"a variable's name":  {Name: "a", Command: "x", Env: map[string]string{"A=B": ""}},
			"a header's value":   {Name: "a", URL: "https://x", Headers: map[string]string{"A": "b\r\nC: d"}},
		} {
			assert.Equal(w.t, fault.Invalid, fault.KindOf(w.host.AddServer(w.t.Context(), c)), why)
		}
		assert.Zero(w.t, w.agents.Count(fake.Launch))
	})
}

func TestSignInForNewSessionsOutlivesTheCall(t *testing.T) {
	inWorld(t, "until the server is connected", copilot.Options{}, func(w *world) {
		require.NoError(w.t, w.host.AddServer(w.t.Context(), agent.ServerConfig{Name: "mail", URL: "https://example.com"}))
		url, err := w.host.SignInToServer(w.t.Context(), w.directory, "mail")
		require.NoError(w.t, err)
		assert.Equal(w.t, "https://example.com/mail", url)
		wait(0)
		assert.Equal(w.t, 1, w.agents.Count(fake.Close))
		assert.Equal(w.t, 1, w.agents.Count(fake.Forget))
	})
}

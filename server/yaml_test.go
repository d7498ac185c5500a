package server_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

// again prints a configuration with its secrets and loads the output.
func again(tb testing.TB, c server.Config) server.Config {
	tb.Helper()
	text, err := c.YAML(true)
	require.NoError(tb, err)
	path := filepath.Join(tb.TempDir(), "again.yaml")
	require.NoError(tb, os.WriteFile(path, text, 0o600))
	c, err = server.Load(server.Sources{Flags: flags(tb, "--config", path), Environ: []string{"MY_KEY=k3y"}})
	require.NoError(tb, err, "%s", text)
	return c
}

// settings returns a configuration without the sources of its values.
func settings(c server.Config) server.Config {
	c.File, c.UsualFile, c.Home, c.Origins = "", "", "", nil
	if len(c.AllowedHosts) == 0 {
		c.AllowedHosts = nil
	}
	if len(c.AllowedOrigins) == 0 {
		c.AllowedOrigins = nil
	}
	if len(c.Permissions.Rules) == 0 {
		c.Permissions.Rules = nil
	}
	if len(c.Agents) == 0 {
		c.Agents = nil
	}
	if len(c.Providers) == 0 {
		c.Providers = nil
	}
	return c
}

const much = `
port: 1
token: s3cret-token
allowed_hosts: [a.example, "1"]
permissions:
  rest: Ask
  rules: {git.forcePush: deny, "*": ask, mcp.a.b: "allow"}
pool: {linger: 1m30s}
providers:
  - {name: one, base_url: "http://x/v1", api_key: s3cret-key}
  - {name: two, type: azure, base_url: "http://y", api_key_env: MY_KEY, models: [a, "7"]}
  - {name: three, base_url: "http://z"}
agents:
  - {name: mine, command: my agent, args: [--acp, "7"], env: [KEY=s3cret, A=1], auth: key}
  - {name: other, command: other, protocol: cli}
model: "yes"
`

func TestPrintedConfigurationIsEffective(t *testing.T) {
	for name, yaml := range map[string]string{"none": "", "much": much} {
		t.Run(name, func(t *testing.T) {
			c, err := load(t, yaml, []string{"MY_KEY=k3y", "PORTAL_DEMO=true"}, "--host", "::1")
			require.NoError(t, err)
			assert.Equal(t, settings(c), settings(again(t, c)))
		})
	}
}

func TestPrintedConfigurationNamesItsSources(t *testing.T) {
	c, err := load(t, much, []string{"MY_KEY=k3y", "PORTAL_DEMO=true", "PORTAL_POOL_SIZE=3"}, "--host", "::1")
	require.NoError(t, err)
	text, err := c.YAML(false)
	require.NoError(t, err)
	for _, line := range []string{
		"# Configuration file: " + c.File + "\n",
		"\nport: 1 # file\n",
		"\nhost: ::1 # flag --host\n",
		"\ndemo: true # variable PORTAL_DEMO\n",
		"\n  size: 3 # variable PORTAL_POOL_SIZE\n",
		"\n  start_timeout: 30s # default\n",
		"\n  rest: ask # file\n",
		"\n    git.forcepush: deny # file\n",
		"\n  - a.example # file\n",
		"\nbase_path: \"\" # default\n",
		"\n    api_key_env: MY_KEY # file\n",
		"\n# token: …  (file; secret)\n",
		"\n    # api_key: …  (file; secret)\n",
		"\n    base_url: http://z # file\n",
		"\nmodel: \"yes\" # file\n",
		"\n    command: my agent # file\n",
		"\n    # env: …  (file; secret)\n",
		"\n    protocol: cli # file\n",
	} {
		assert.Contains(t, string(text), line)
	}
	assert.NotContains(t, string(text), "s3cret")
	assert.NotContains(t, string(text), "k3y")
}

func TestPrintedConfigurationWithoutSecretsIsValid(t *testing.T) {
	c, err := load(t, much, []string{"MY_KEY=k3y"})
	require.NoError(t, err)
	text, err := c.YAML(false)
	require.NoError(t, err)
	without, err := load(t, string(text), []string{"MY_KEY=k3y"})
	require.NoError(t, err)
	assert.Empty(t, without.Token)
	assert.Empty(t, without.Providers[0].APIKey)
	assert.Equal(t, "k3y", without.Providers[1].APIKey)
}

func TestEveryVariableIsPrinted(t *testing.T) {
	c, err := load(t, "", nil)
	require.NoError(t, err)
	text, err := c.YAML(true)
	require.NoError(t, err)
	for _, key := range []string{
		"port", "host", "base_path", "allowed_hosts", "allowed_origins", "token", "data_dir", "debug", "copilot_path", "model", "demo",
		"rest", "rules", "size", "sessions_per_process", "linger", "start_timeout", "providers", "agents",
	} {
		assert.Regexp(t, `(?m)^ *`+key+": ", string(text))
	}
	assert.Contains(t, string(text), "There is no configuration file; the default path is "+c.UsualFile)
}

func TestPrintedConfigurationHasNoPasswordsOfServers(t *testing.T) {
	c, err := load(t, "cluster: {nats: ['nats://me:s3cret@a:4222', 'nats://b:4222'], name: here}", nil)
	require.NoError(t, err)
	text, err := c.YAML(false)
	require.NoError(t, err)
	assert.NotContains(t, string(text), "s3cret")
	assert.Contains(t, string(text), "# nats: …  (file; secret)")
	assert.Equal(t, settings(c), settings(again(t, c)))

	c, err = load(t, "cluster: {nats: ['nats://a:4222'], name: here}", nil)
	require.NoError(t, err)
	text, err = c.YAML(false)
	require.NoError(t, err)
	assert.Contains(t, string(text), "nats://a:4222")
}

package server_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/server"
)

// load loads a configuration from a file, variables "KEY=VALUE" and flags.
func load(tb testing.TB, yaml string, env []string, args ...string) (server.Config, error) {
	tb.Helper()
	home := tb.TempDir()
	if yaml != "" {
		path := filepath.Join(home, ".config", "portal", "config.yaml")
		require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(tb, os.WriteFile(path, []byte(yaml), 0o600))
	}
	return server.Load(server.Sources{Flags: flags(tb, args...), Environ: append(env, "HOME="+home)})
}

func TestDefaultsApplyWithoutConfiguration(t *testing.T) {
	c, err := load(t, "", nil)
	require.NoError(t, err)
	assert.Equal(t, 8888, c.Port)
	assert.Equal(t, "localhost", c.Host)
	assert.Equal(t, permission.Allow, c.Permissions.Rest)
	assert.Equal(t, permission.Deny, c.Permissions.Headless)
	assert.Equal(t, server.Pool{Size: 1, PerProcess: 50, Linger: 10 * time.Second, Warm: "auto", StartTimeout: 30 * time.Second, PingEvery: 5 * time.Second, SilenceLimit: 10 * time.Second, MemoryLimit: 1024}, c.Pool)
	assert.Equal(t, server.Limits{Sessions: 500, Runs: 50, Studio: 8, Tool: 10 * time.Minute, Idle: 30 * time.Minute, Depth: 3}, c.Limits)
	assert.Equal(t, server.Retention{Size: 4096}, c.Retention)
	assert.Empty(t, c.Token)
	assert.Empty(t, c.File)
	assert.Empty(t, c.Providers)
	assert.Equal(t, filepath.Join(".local", "share", "copilot-portal"), c.DataDir[len(c.DataDir)-len(".local/share/copilot-portal"):])
}

func TestFlagsOverrideVariablesOverrideTheFileOverridesDefaults(t *testing.T) {
	type read func(server.Config) any
	for name, tc := range map[string]struct {
		read                           read
		byDefault, byFile, byEnv, flag any
		yaml, env                      string
		args                           []string
	}{
		"the port": {
			read:      func(c server.Config) any { return c.Port },
			byDefault: 8888, byFile: 1001, byEnv: 1002, flag: 1003,
			yaml: "port: 1001", env: "PORTAL_PORT=1002", args: []string{"--port", "1003"},
		},
		"port 0": {
			read:      func(c server.Config) any { return c.Port },
			byDefault: 8888, byFile: 0, byEnv: 0, flag: 0,
			yaml: "port: 0", env: "PORTAL_PORT=0", args: []string{"--port", "0"},
		},
		"the host": {
			read:      func(c server.Config) any { return c.Host },
			byDefault: "localhost", byFile: "a", byEnv: "b", flag: "c",
			yaml: "host: a", env: "PORTAL_HOST=b", args: []string{"--host", "c"},
		},
		"the token": {
			read:      func(c server.Config) any { return c.Token },
			byDefault: "", byFile: "a", byEnv: "b", flag: "c",
			yaml: "token: a", env: "PORTAL_TOKEN=b", args: []string{"--token", "c"},
		},
		"a boolean": {
			read:      func(c server.Config) any { return c.Demo },
			byDefault: false, byFile: true, byEnv: false, flag: true,
			yaml: "demo: true", env: "PORTAL_DEMO=false", args: []string{"--demo"},
		},
		"the sandbox": {
			read:      func(c server.Config) any { return c.Sandbox },
			byDefault: false, byFile: true, byEnv: false, flag: true,
			yaml: "sandbox: true", env: "PORTAL_SANDBOX=false", args: []string{"--sandbox"},
		},
		"the network of the sandbox": {
			read:      func(c server.Config) any { return c.SandboxNetwork },
			byDefault: "shared", byFile: "model", byEnv: "shared", flag: "model",
			yaml: "{sandbox: true, sandbox_network: model}", env: "PORTAL_SANDBOX_NETWORK=shared", args: []string{"--sandbox", "--sandbox-network", "model"},
		},
		"a key of two words": {
			read:      func(c server.Config) any { return c.CopilotPath },
			byDefault: "", byFile: "a", byEnv: "b", flag: "c",
			yaml: "copilot_path: a", env: "PORTAL_COPILOT_PATH=b", args: []string{"--copilot-path", "c"},
		},
		"a program in place of the CLI": {
			read:      func(c server.Config) any { return c.AgentCommand },
			byDefault: "", byFile: "a 'b c'", byEnv: "d", flag: "e f",
			yaml: `agent_command: "a 'b c'"`, env: "PORTAL_AGENT_COMMAND=d", args: []string{"--agent-command", "e f"},
		},
		"a key of a group": {
			read:      func(c server.Config) any { return c.Pool.Size },
			byDefault: 1, byFile: 2, byEnv: 3,
			yaml: "pool: {size: 2}", env: "PORTAL_POOL_SIZE=3",
		},
		"a duration of a group": {
			read:      func(c server.Config) any { return c.Pool.StartTimeout },
			byDefault: 30 * time.Second, byFile: time.Minute, byEnv: 90 * time.Second,
			yaml: "pool: {start_timeout: 1m}", env: "PORTAL_POOL_START_TIMEOUT=1m30s",
		},
		"a permission": {
			read:      func(c server.Config) any { return string(c.Permissions.Rest) },
			byDefault: "allow", byFile: "ask", byEnv: "deny",
			yaml: "permissions: {rest: ask}", env: "PORTAL_PERMISSIONS_REST=deny",
		},
		"a permission of UIs that cannot ask": {
			read:      func(c server.Config) any { return string(c.Permissions.Headless) },
			byDefault: "deny", byFile: "ask", byEnv: "allow",
			yaml: "permissions: {headless: ask}", env: "PORTAL_PERMISSIONS_HEADLESS=allow",
		},
		"a path": {
			read:      func(c server.Config) any { return c.BasePath },
			byDefault: "", byFile: "/a", byEnv: "/b", flag: "/c",
			yaml: "base_path: /a", env: "PORTAL_BASE_PATH=/b", args: []string{"--base-path", "/c"},
		},
		"a list": {
			read:      func(c server.Config) any { return c.AllowedHosts },
			byDefault: []string{}, byFile: []string{"a", "b"}, byEnv: []string{"c", "d"},
			yaml: "allowed_hosts: [a, b]", env: "PORTAL_ALLOWED_HOSTS=c,d",
		},
		"a list with blanks": {
			read:      func(c server.Config) any { return c.AllowedHosts },
			byDefault: []string{}, byFile: []string{"a", "b"}, byEnv: []string{"c", "d"},
			yaml: "allowed_hosts: a, b", env: "PORTAL_ALLOWED_HOSTS= c, d,",
		},
		"an empty variable is ignored": {
			read:      func(c server.Config) any { return c.Model },
			byDefault: "", byFile: "a", byEnv: "a",
			yaml: "model: a", env: "PORTAL_MODEL=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := func(want any, yaml string, env []string, args ...string) {
				t.Helper()
				c, err := load(t, yaml, env, args...)
				require.NoError(t, err)
				assert.Equal(t, want, tc.read(c))
			}
			check(tc.byDefault, "", nil)
			check(tc.byFile, tc.yaml, nil)
			check(tc.byEnv, tc.yaml, []string{tc.env})
			if tc.args != nil {
				check(tc.flag, tc.yaml, []string{tc.env}, tc.args...)
				check(tc.flag, "", nil, tc.args...)
			}
		})
	}
}

func TestEmptyGroupsChangeNothing(t *testing.T) {
	c, err := load(t, "permissions:\n  headless:\npool:\nproviders:\nallowed_hosts:\nmodel:\n", nil)
	require.NoError(t, err)
	assert.Equal(t, permission.Allow, c.Permissions.Rest)
	assert.Equal(t, permission.Deny, c.Permissions.Headless)
	assert.Equal(t, 1, c.Pool.Size)
	c, err = load(t, "permissions:\n  rules:\npool:\n  size:\n", []string{"PORTAL_POOL_SIZE=4"})
	require.NoError(t, err)
	assert.Equal(t, permission.Allow, c.Permissions.Rest)
	assert.Equal(t, 4, c.Pool.Size)
}

func TestConfigurationFileIsFound(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return path
	}
	home := write(".config/portal/config.yaml", "model: home")
	xdg := write("xdg/portal/config.yaml", "model: xdg")
	named := write("named.yaml", "model: named")
	other := write("other.json", `{"model": "other"}`)
	conf := write("config.conf", "model: yaml\npermissions: {rules: {exec.run(A): deny}}")
	plain := write("portalrc", "model: plain")
	for name, tc := range map[string]struct {
		args, env   []string
		file, model string
	}{
		"in the home directory":            {nil, []string{"HOME=" + dir}, home, "home"},
		"in the configuration directory":   {nil, []string{"HOME=" + dir, "XDG_CONFIG_HOME=" + dir + "/xdg"}, xdg, "xdg"},
		"by variable":                      {nil, []string{"HOME=" + dir, "PORTAL_CONFIG=" + named}, named, "named"},
		"by flag over the variable":        {[]string{"--config", other}, []string{"HOME=" + dir, "PORTAL_CONFIG=" + named}, other, "other"},
		"missing, which is no error":       {nil, []string{"HOME=/nowhere"}, "", ""},
		"missing without a home directory": {nil, []string{"PORTAL_EPHEMERAL=true"}, "", ""},
		"on Windows":                       {nil, []string{"USERPROFILE=" + dir}, home, "home"},
		"a relative directory is ignored":  {nil, []string{"HOME=" + dir, "XDG_CONFIG_HOME=xdg"}, home, "home"},
		"with another extension":           {nil, []string{"HOME=" + dir, "PORTAL_CONFIG=" + conf}, conf, "yaml"},
		"without an extension":             {nil, []string{"HOME=" + dir, "PORTAL_CONFIG=" + plain}, plain, "plain"},
		"an empty variable is ignored":     {nil, []string{"HOME=" + dir, "PORTAL_CONFIG="}, home, "home"},
		"an empty directory is ignored":    {nil, []string{"HOME=" + dir, "XDG_CONFIG_HOME="}, home, "home"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := server.Load(server.Sources{Flags: flags(t, tc.args...), Environ: tc.env})
			require.NoError(t, err)
			assert.Equal(t, tc.file, c.File)
			assert.Equal(t, tc.model, c.Model)
		})
	}
	for name, path := range map[string]string{
		"is not there":       filepath.Join(dir, "missing.yaml"),
		"is a directory":     dir,
		"is of another kind": write("text.conf", "model = x"),
	} {
		t.Run("a named file that "+name+" is an error", func(t *testing.T) {
			_, err := server.Load(server.Sources{Flags: flags(t, "--config", path)})
			require.ErrorContains(t, err, path)
			_, err = server.Load(server.Sources{Flags: flags(t), Environ: []string{"PORTAL_CONFIG=" + path}})
			require.ErrorContains(t, err, path)
		})
	}
}

func TestFileFaultsNameFileAndKey(t *testing.T) {
	for name, tc := range map[string]struct {
		yaml string
		want []string
	}{
		"an unknown key":                                   {"prot: 1", []string{"prot"}},
		"an unknown key of a group":                        {"permissions: {rset: ask}", []string{"permissions", "rset"}},
		"an unknown group":                                 {"limits: {disk: 1}", []string{"limits"}},
		"an unknown key of the pool":                       {"pool: {sizes: 1}", []string{"pool", "sizes"}},
		"an unknown key of a provider":                     {"providers: [{name: a, base_url: 'http://x', apikey: y}]", []string{"providers[0]", "apikey"}},
		"a dash for an underscore":                         {"copilot-path: x", []string{"copilot-path"}},
		"a port that is not a number":                      {"port: many", []string{"port"}},
		"too large a port":                                 {"port: 70000", []string{"port", "70000"}},
		"a negative port":                                  {"port: -1", []string{"port", "-1"}},
		"a sandbox around another program":                 {"{sandbox: true, agent_command: x}", []string{"sandbox", "agent_command"}},
		"an unknown network of the sandbox":                {"{sandbox: true, sandbox_network: none}", []string{"sandbox_network", "none", "shared or model"}},
		"titles from nowhere":                              {"titles: agent", []string{"titles", "agent", "model nor prompt"}},
		"a network without a sandbox":                      {"sandbox_network: model", []string{"sandbox_network", "set sandbox: true"}},
		"a network without a value":                        {"{sandbox: true, sandbox_network: }", []string{"sandbox_network", "no value"}},
		"hosts of a sandbox that reaches all hosts":        {"{sandbox: true, sandbox_hosts: [a.example]}", []string{"sandbox_hosts", "set sandbox_network: model"}},
		"a host of the sandbox that is an address":         {"{sandbox: true, sandbox_network: model, sandbox_hosts: ['https://a']}", []string{"sandbox_hosts", "https://a"}},
		"a sandbox without a value":                        {"sandbox:", []string{"sandbox", "no value"}},
		"an invalid boolean":                               {"demo: maybe", []string{"demo"}},
		"an invalid permission":                            {"permissions: {rest: perhaps}", []string{"permissions.rest", "perhaps", "allow, ask or deny"}},
		"an invalid permission of operations":              {"permissions: {operations: perhaps}", []string{"permissions.operations", "perhaps"}},
		"operations without retention":                     {"operations: {retention: 0s}", []string{"operations.retention", "0s"}},
		"operations without connections":                   {"operations: {connections: 0}", []string{"operations.connections", "0"}},
		"an invalid permission of UIs":                     {"permissions: {headless: perhaps}", []string{"permissions.headless", "perhaps", "allow, ask or deny"}},
		"a permission without a value":                     {"permissions: {rest: }", []string{"permissions.rest has no value"}},
		"a permission of jobs without a value":             {"permissions: {jobs: }", []string{"permissions.jobs has no value"}},
		"a permission of chats without a value":            {"permissions: {cli: }", []string{"permissions.cli has no value"}},
		"a permission that is null":                        {"permissions:\n  rest: null", []string{"permissions.rest has no value"}},
		"a token without a value":                          {"token:", []string{"token has no value"}},
		"a rule without a value":                           {"permissions: {rules: {git.push: }}", []string{"permissions.rules.git.push has no value"}},
		"a base path with a query":                         {"base_path: /a?b", []string{"base_path", "/a?b"}},
		"a base path with dots":                            {"base_path: /a/../b", []string{"base_path", "/a/../b"}},
		"a base path with an empty part":                   {"base_path: /a//b", []string{"base_path", "/a//b"}},
		"a base path that is an address":                   {"base_path: http://x/a", []string{"base_path", "http://x/a"}},
		"a base path that must be encoded":                 {"base_path: /a b", []string{"base_path", "/a b"}},
		"an invalid rule":                                  {"permissions: {rules: {git.forcePush: never}}", []string{"permissions.rules", "never"}},
		"a rule with an invalid pattern":                   {"permissions: {rules: {'exec.run(a; b)': allow}}", []string{"permissions.rules.exec.run(a; b): a pattern must be a single command"}},
		"a rule whose path is relative":                    {"permissions: {rules: {fs.read(src/**): deny}}", []string{"permissions.rules.fs.read(src/**)", "absolute"}},
		"rules that are a string":                          {"permissions: {rules: deny}", []string{"permissions.rules"}},
		"permissions that are a string":                    {"permissions: deny", []string{"permissions"}},
		"a pool without processes":                         {"pool: {size: 0}", []string{"pool", "size"}},
		"no time to start":                                 {"pool: {start_timeout: 0s}", []string{"pool", "start_timeout"}},
		"no time between pings":                            {"pool: {ping_every: 0s}", []string{"pool", "ping_every"}},
		"too short a silence":                              {"pool: {silence_limit: 900ms}", []string{"pool.silence_limit", "900ms"}},
		"too little memory":                                {"pool: {memory_limit: 100}", []string{"pool.memory_limit", "100"}},
		"a negative memory":                                {"pool: {memory_limit: -1}", []string{"pool.memory_limit", "-1"}},
		"no sessions":                                      {"limits: {sessions: 0}", []string{"limits", "sessions"}},
		"too many requests of the studio":                  {"limits: {studio: 101}", []string{"limits.studio", "101"}},
		"an invalid permission of chats":                   {"permissions: {cli: perhaps}", []string{"permissions.cli", "perhaps"}},
		"no runs":                                          {"limits: {runs: 0}", []string{"limits", "runs"}},
		"no time for tools":                                {"limits: {tool: 0s}", []string{"limits", "tool"}},
		"a negative time for questions":                    {"limits: {question: -1s}", []string{"limits.question", "-1s"}},
		"a negative time without a client":                 {"sidecar: {unattended: -1s}", []string{"sidecar.unattended", "-1s"}},
		"a duration without a unit":                        {"pool: {linger: 10}", []string{"pool.linger", "unit"}},
		"a quoted duration without a unit":                 {"pool: {linger: '10'}", []string{"pool.linger", "unit"}},
		"an invalid duration":                              {"pool: {linger: soon}", []string{"pool.linger", "soon"}},
		"invalid YAML":                                     {"port: [", []string{"line"}},
		"YAML with a tab":                                  {"pool:\n\tsize: 1", []string{"line 2"}},
		"a key twice":                                      {"port: 1\nport: 2", []string{"port"}},
		"a list":                                           {"- port", []string{"config.yaml"}},
		"a string":                                         {"port", []string{"config.yaml"}},
		"a provider with a password in its address":        {"providers: [{name: a, base_url: 'http://me:s3cret@x/v1'}]", []string{"providers[0].base_url", "…@x/v1", "api_key"}},
		"a provider with a key in its address":             {"providers: [{name: a, base_url: 'http://x/v1?key=s3cret'}]", []string{"providers[0].base_url", "http://x/v1", "api_key"}},
		"a provider with a password in an invalid address": {"providers: [{name: a, base_url: 'ftp://me:s3cret@x'}]", []string{"providers[0].base_url", "ftp://…@x"}},
		"a provider without a name":                        {"providers: [{base_url: 'http://x'}]", []string{"providers[0]", "name"}},
		"a provider whose name has a slash":                {"providers: [{name: a/b, base_url: 'http://x'}]", []string{"providers[0]", "name", "a/b"}},
		"a provider whose name has a blank":                {"providers: [{name: a b, base_url: 'http://x'}]", []string{"providers[0]", "name", "a b"}},
		"a provider named like the demo's":                 {"providers: [{name: portal-demo, base_url: 'http://x'}]", []string{"providers[0]", "name", "portal-demo"}},
		"a provider of an unknown type":                    {"providers: [{name: a, type: ollama, base_url: 'http://x'}]", []string{"providers[0]", "type", "ollama", "openai"}},
		"a provider without an address":                    {"providers: [{name: a}]", []string{"providers[0]", "base_url"}},
		"a provider without a scheme":                      {"providers: [{name: a, base_url: 'localhost:11434'}]", []string{"providers[0]", "base_url", "localhost:11434"}},
		"a provider of another scheme":                     {"providers: [{name: a, base_url: 'ftp://x'}]", []string{"providers[0]", "base_url"}},
		"a provider without a host":                        {"providers: [{name: a, base_url: 'http:///v1'}]", []string{"providers[0]", "base_url"}},
		"a provider with two keys":                         {"providers: [{name: a, base_url: 'http://x', api_key: s3cret, api_key_env: KEY}]", []string{"providers[0]", "api_key", "api_key_env"}},
		"a blank token":                                    {"token: ' '", []string{"token", "blank"}},
		"a token with a line break":                        {`token: "s3cret\ns3cret"`, []string{"token", "line breaks"}},
		"an address as an allowed host":                    {"allowed_hosts: ['https://me:s3cret@example.org']", []string{"allowed_hosts", "https://…@example.org", "such as portal.example.org"}},
		"an allowed host with a port":                      {"allowed_hosts: ['example.org:443']", []string{"allowed_hosts", "example.org:443"}},
		"an allowed host with a path":                      {"allowed_hosts: [example.org/portal]", []string{"allowed_hosts", "example.org/portal"}},
		"a pattern as an allowed host":                     {"allowed_hosts: ['*.example.org']", []string{"allowed_hosts", "*.example.org", "without *"}},
		"an allowed host with a letter that is not ASCII":  {"allowed_hosts: [bücher.example]", []string{"allowed_hosts", "bücher.example"}},
		"all addresses as an allowed host":                 {"allowed_hosts: [0.0.0.0]", []string{"allowed_hosts", "0.0.0.0"}},
		"a server of a cluster without a scheme":           {"cluster: {nats: ['me:s3cret@a:4222']}", []string{"cluster.nats", "…@a:4222"}},
		"a provider with an empty model":                   {"providers: [{name: a, base_url: 'http://x', models: ['']}]", []string{"providers[0]", "models"}},
		"the same name twice":                              {"providers: [{name: a, base_url: 'http://x'}, {name: a, base_url: 'http://y'}]", []string{"providers[1]", "name", `"a"`}},
		"providers that are not a list":                    {"providers: {name: a, base_url: 5}", []string{"providers"}},
		"several faults at once": {
			"prot: 1\nport: 70000\npermissions: {rest: perhaps, rules: {x: y}}\npool: {size: 0}\nproviders: [{name: a b}, {name: c, base_url: 'http://x', kind: d}]",
			[]string{"prot", "70000", "perhaps", "permissions.rules.x", "pool", "providers[0]", "base_url", "providers[1]", "kind"},
		},
		"faults of syntax and of values at once": {"port: many\nprot: 1\npool: {linger: 10}", []string{"port", "prot", "pool.linger"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, tc.yaml, []string{"EMPTY=", "KEY=k"})
			require.Error(t, err)
			t.Log(err)
			for _, want := range append(tc.want, "config.yaml") {
				assert.Contains(t, err.Error(), want)
			}
			assert.NotContains(t, err.Error(), "s3cret")
			assert.NotContains(t, err.Error(), "%!")
		})
	}
}

func TestFlagAndVariableFaultsNameTheirKey(t *testing.T) {
	for name, tc := range map[string]struct {
		args, env []string
		want      string
	}{
		"too large a port":                {[]string{"--port", "70000"}, nil, "port: 70000"},
		"a variable that is not a number": {nil, []string{"PORTAL_PORT=many"}, "port"},
		"an invalid variable of a group":  {nil, []string{"PORTAL_POOL_SIZE=0"}, "pool"},
		"a duration without a unit":       {nil, []string{"PORTAL_POOL_LINGER=10"}, "pool.linger"},
		"an invalid boolean":              {nil, []string{"PORTAL_DEBUG=perhaps"}, "debug"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := load(t, "", tc.env, tc.args...)
			require.ErrorContains(t, err, tc.want)
			t.Log(err)
			assert.NotContains(t, err.Error(), "  ", "a gap where a name was meant to be")
		})
	}
}

func TestVariablesThatSetNothingAreFaults(t *testing.T) {
	for _, name := range []string{"PORTAL_TOKN", "PORTAL_POOL", "PORTAL_PERMISSIONS_RULES", "PORTAL_PROVIDERS", "PORTAL_port", "PORTAL_"} {
		_, err := load(t, "port: 70000", []string{name + "=x", "PORTAL_MODEL=m", "PORTALS=x", "COPILOT_PORTAL_AGENT=x"})
		require.ErrorContains(t, err, "unknown variables: "+name+"; known variables: PORTAL_ACCOUNT, PORTAL_AGENTS, PORTAL_AGENT_COMMAND, PORTAL_ALLOWED_HOSTS, ")
		require.ErrorContains(t, err, "port: 70000", "with the other faults")
	}
	_, err := load(t, "", []string{"PORTAL_B=", "PORTAL_A=x"})
	require.ErrorContains(t, err, "unknown variables: PORTAL_A, PORTAL_B;")
}

func TestBasePathIsNormalized(t *testing.T) {
	for given, want := range map[string]string{
		"": "", "/": "", "portal": "/portal", "/portal": "/portal", "/portal/": "/portal", "/a/b-1/c.d_~": "/a/b-1/c.d_~",
	} {
		c, err := load(t, "", nil, "--base-path", given)
		require.NoError(t, err, given)
		assert.Equal(t, want, c.BasePath, given)
	}
}

func TestPermissionNamesKeepTheirDots(t *testing.T) {
	c, err := load(t, `
permissions:
  rules:
    git.forcePush: deny
    git: Ask
    mcp.my-server.getThing: allow
    "*": ask
    fs.read: allow
`, nil)
	require.NoError(t, err)
	got := map[string]string{}
	for name, d := range c.Permissions.Rules {
		got[strings.ToLower(name)] = strings.ToLower(d)
	}
	assert.Equal(t, map[string]string{
		"git.forcepush": "deny", "git": "ask", "mcp.my-server.getthing": "allow", "*": "ask", "fs.read": "allow",
	}, got)
}

func TestDecisionsIgnoreCase(t *testing.T) {
	c, err := load(t, "permissions: {rest: ' Allow ', headless: ASK}", nil)
	require.NoError(t, err)
	assert.Equal(t, permission.Allow, c.Permissions.Rest)
	assert.Equal(t, permission.Ask, c.Permissions.Headless)
}

func TestDurationsAreParsed(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"10s": 10 * time.Second, "1m30s": 90 * time.Second, "500ms": 500 * time.Millisecond, "0s": 0, "0": 0, "-1s": -time.Second,
	} {
		c, err := load(t, "pool: {linger: "+text+"}", nil)
		require.NoError(t, err, text)
		assert.Equal(t, want, c.Pool.Linger, text)
	}
}

func TestProvidersAreParsed(t *testing.T) {
	c, err := load(t, `
providers:
  - {name: Ollama, base_url: "http://localhost:11434/v1"}
  - {name: azure-1, type: azure, base_url: "https://x.example/", api_key_env: MY_KEY, models: [gpt-4.1, "org/model"]}
  - {name: claude, type: anthropic, base_url: "https://y.example", api_key: k}
`, []string{"MY_KEY=secret"})
	require.NoError(t, err)
	assert.Equal(t, []server.Provider{
		{Name: "Ollama", Type: "openai", BaseURL: "http://localhost:11434/v1"},
		{Name: "azure-1", Type: "azure", BaseURL: "https://x.example/", APIKey: "secret", APIKeyEnv: "MY_KEY", Models: []string{"gpt-4.1", "org/model"}},
		{Name: "claude", Type: "anthropic", BaseURL: "https://y.example", APIKey: "k"},
	}, c.Providers)
}

func FuzzConfigurationFile(f *testing.F) {
	for _, seed := range []string{
		"", "port: 1", "permissions: {rules: {a.b: deny}}", "pool: {linger: 1s}", "providers: [{name: a, base_url: 'http://x', models: [b]}]",
		"port: [", "- a", "a: &a [*a]", "? {}", "pool: 1", "permissions:\n  rules:\n    a::b: ask", "\x00", "port: 1e3", "!!binary aGk=: x", "1: 2", "{}: {}",
	} {
		f.Add(seed)
	}
	home := f.TempDir()
	path := filepath.Join(home, "config.yaml")
	f.Fuzz(func(t *testing.T, text string) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		c, err := server.Load(server.Sources{Flags: flags(t, "--config", path), Environ: []string{"HOME=" + home}})
		if err != nil {
			assert.ErrorContains(t, err, path)
			return
		}
		assert.True(t, c.Port >= 0 && c.Port <= 65535)
		assert.Contains(t, []permission.Decision{permission.Allow, permission.Ask, permission.Deny}, c.Permissions.Rest)
		assert.Positive(t, c.Pool.Size)
		assert.Positive(t, c.Pool.StartTimeout)
		for _, p := range c.Providers {
			assert.NotEmpty(t, p.Name)
			assert.NotEmpty(t, p.BaseURL)
		}
		assert.Equal(t, settings(c), settings(again(t, c)), "what portal config prints is the same configuration")
	})
}

func TestPatternsOfRulesKeepTheirCase(t *testing.T) {
	c, err := load(t, "Permissions:\n  Rules:\n    exec.run(make Build *): allow\n    fs.read(/Users/Me/**): deny\n    Git.Push: ask\n", nil)
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"exec.run(make Build *)": "allow", "fs.read(/Users/Me/**)": "deny", "Git.Push": "ask"}, c.Permissions.Rules)
}

func TestWorkingDirectoryDoesNotConfigureThePortal(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	path := filepath.Join(".config", "portal", "config.yaml")
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte("agent_command: ./evil"), 0o600))
	for _, environ := range [][]string{nil, {"HOME="}, {"HOME=."}, {"XDG_CONFIG_HOME=.config", "XDG_DATA_HOME=.config"}} {
		c, err := server.Load(server.Sources{Flags: flags(t), Environ: environ})
		require.NoError(t, err)
		assert.Empty(t, c.DataDir)
		assert.Empty(t, c.AgentCommand)
		err = c.CheckDataDir()
		require.ErrorContains(t, err, "data_dir: the environment names no home directory (HOME)")
		require.ErrorContains(t, err, "--data-dir")
		require.ErrorContains(t, err, "--ephemeral")
		for _, args := range [][]string{{"--ephemeral"}, {"--data-dir", "data"}} {
			c, err := server.Load(server.Sources{Flags: flags(t, args...), Environ: environ})
			require.NoError(t, err)
			require.NoError(t, c.CheckDataDir())
			assert.Empty(t, c.AgentCommand)
			assert.Empty(t, c.File)
		}
	}
}

func TestPathsAreAbsolute(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	require.NoError(t, err)
	c, err := load(t, "", nil, "--data-dir", "data", "--copilot-path", "./copilot")
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(dir, "data"), c.DataDir)
	assert.Equal(t, filepath.Join(dir, "copilot"), c.CopilotPath)
	c, err = load(t, "data_dir: ''", nil)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(c.Home, ".local", "share", "copilot-portal"), c.DataDir, "the default")
}

func TestSurroundingsOfSecretsAreRemoved(t *testing.T) {
	c, err := load(t, "providers: [{name: a, base_url: 'http://x', api_key: 'k '}, {name: b, base_url: 'http://y', api_key_env: KEY}]", []string{"PORTAL_TOKEN=a secret\n", "KEY=k\r\n"})
	require.NoError(t, err)
	assert.Equal(t, "a secret", c.Token)
	assert.Equal(t, "k", c.Providers[0].APIKey)
	assert.Equal(t, "k", c.Providers[1].APIKey)
}

func TestHostsHaveNoBrackets(t *testing.T) {
	c, err := load(t, "allowed_hosts: ['[2001:0db8::7]', ' example.org', localhost, 192.0.2.7, a_b.example.]", nil, "--host", "[::1]")
	require.NoError(t, err)
	assert.Equal(t, "::1", c.Host)
	assert.Equal(t, []string{"2001:db8::7", "example.org", "localhost", "192.0.2.7", "a_b.example."}, c.AllowedHosts)
}

func TestOnlyAgentsNeedTheKeysOfProviders(t *testing.T) {
	discard := slog.New(slog.DiscardHandler)
	for _, variable := range []string{"ABSENT", "EMPTY"} {
		c, err := load(t, "providers: [{name: a, base_url: 'http://x', api_key_env: "+variable+"}]", []string{"EMPTY= "})
		require.NoError(t, err)
		require.NoError(t, server.WithSessions(t.Context(), c, discard, func(s *server.Sessions) error {
			_, _, err := s.List(t.Context(), 0)
			return err
		}))
		want := "providers[0].api_key_env: the variable " + variable + " is unset or empty"
		require.ErrorContains(t, c.CheckKeys(), want)
		_, _, err = server.Models(t.Context(), c, discard)
		require.ErrorContains(t, err, want)
	}
}

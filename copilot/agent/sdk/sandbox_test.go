package sdk_test

import (
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sandbox"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// sandboxed starts a host whose CLIs run in sandboxes with a network, and returns its home.
func sandboxed(t *testing.T, n sandbox.Network, env ...string) (h *copilot.Host, home string) {
	t.Helper()
	require.NoError(t, sandbox.Probe(t.Context(), n), "make deps installs bubblewrap")
	o, home := sandboxOptions(t, n)
	o.Env = append(o.Env, env...)
	driver := sdk.New(o)
	h = copilot.NewHost(copilot.Options{LaunchIn: driver.LaunchIn, Health: driver.Health, Policy: permission.Policy{"*": permission.Allow}, Pool: agent.PoolOptions{StartTimeout: late}})
	t.Cleanup(func() { h.Close(t.Context()) })
	return h, home
}

// sandboxOptions returns options for CLIs in sandboxes with a network, and their home.
func sandboxOptions(t *testing.T, n sandbox.Network) (o sdk.Options, home string) {
	t.Helper()
	o = options(t)
	o.WithoutAccount = false // the CLI asks GitHub

	home, err := os.MkdirTemp("../../../bin", "home-") //nolint:usetesting // not below /tmp, which is empty in a sandbox
	require.NoError(t, err)
	home, err = filepath.Abs(home)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(home)) })
	state := filepath.Join(home, "state") // does not exist before the first start
	o.Env = append(environ(home), "COPILOT_HOME="+state, "PORTAL_TOKEN=secret")
	o.Sandbox = &sandbox.Sandbox{Home: home, State: []string{state}, Network: n}
	return o, home
}

func TestLinkedCLIStartsInSandbox(t *testing.T) {
	o, home := sandboxOptions(t, sandbox.Shared)
	link := filepath.Join(home, "copilot")
	require.NoError(t, os.Symlink(o.Locate.Configured, link))
	o.Locate.Configured = link
	a, err := sdk.New(o).LaunchIn(t.Context(), t.TempDir())
	require.NoError(t, err)
	a.Stop(t.Context())
}

func TestSandboxedAgentWritesOnlyToItsDirectory(t *testing.T) {
	h, home := sandboxed(t, sandbox.Shared)
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".ssh"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".ssh", "id"), []byte("private"), 0o600))
	for _, directory := range []string{filepath.Join(home, "one"), filepath.Join(t.TempDir(), "two")} {
		require.NoError(t, os.MkdirAll(directory, 0o700))
		v := whole{T: t, host: h}.start(func(s *copilot.Start) { s.Directory = directory })
		script := "touch inside; touch " + home + "/outside; cat " + home + "/.ssh/id >stolen; echo $PORTAL_TOKEN >token; ps -e >processes; true"
		require.NoError(t, os.WriteFile(filepath.Join(directory, "try.sh"), []byte(script), 0o600))
		v.run(event.Prompt{Text: "run `sh try.sh`"})
		assert.FileExists(t, filepath.Join(directory, "inside"))
		assert.NoFileExists(t, filepath.Join(home, "outside"))
		for _, name := range []string{"stolen", "token"} {
			text, err := os.ReadFile(filepath.Join(directory, name))
			require.NoError(t, err)
			assert.Empty(t, strings.TrimSpace(string(text)), name)
		}
	}
	assert.NoFileExists(t, filepath.Join(home, "one", "outside"))
}

// reach is a script that tries everything that a command of the agent can: the address $1 directly, and through the
// configured proxy.
const reach = `
if exec 3<>/dev/tcp/${1%:*}/${1#*:}; then echo reached; else echo unreachable; fi 2>/dev/null >direct
if [ -n "$https_proxy" ]; then
	proxy=${https_proxy#http://}
	exec 4<>/dev/tcp/${proxy%:*}/${proxy#*:}
	printf 'CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n' "$1" "$1" >&4
	head -n 1 <&4 >proxied
fi
ls /proc/net/dev >/dev/null && tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' \n' >interfaces
true
`

func TestSandboxHasConfiguredNetwork(t *testing.T) {
	for network, want := range map[sandbox.Network]string{sandbox.Shared: "reached", sandbox.Model: "unreachable"} {
		t.Run(string(network), func(t *testing.T) {
			t.Setenv("TMPDIR", t.TempDir())
			service, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, service.Close()) })
			h, home := sandboxed(t, network)
			directory := filepath.Join(home, "project")
			require.NoError(t, os.Mkdir(directory, 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(directory, "reach.sh"), []byte(reach), 0o600))
			v := whole{T: t, host: h}.start(func(s *copilot.Start) { s.Directory = directory })
			v.run(event.Prompt{Text: "run `bash reach.sh " + service.Addr().String() + "`"})
			read := func(name string) string {
				text, err := os.ReadFile(filepath.Join(directory, name))
				require.NoError(t, err)
				return strings.TrimSpace(string(text))
			}
			assert.Equal(t, want, read("direct"))
			if network == sandbox.Model {
				assert.Equal(t, "HTTP/1.1 403 Forbidden", read("proxied"))
				assert.Equal(t, "lo", read("interfaces"))
			}
			v.run(event.Prompt{Text: "run `touch again`"})
			assert.FileExists(t, filepath.Join(directory, "again"), "the agent can reach its model")
			h.Close(t.Context())
			left, err := filepath.Glob(filepath.Join(os.TempDir(), sandbox.GateDirectory+"*"))
			require.NoError(t, err)
			assert.Empty(t, left)
		})
	}
}

func TestSandboxedCLIReachesGitHubThroughTheGate(t *testing.T) {
	asked := make(chan string, 100)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		select {
		case asked <- r.Method + " " + r.Host:
		default:
		}
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	h, _ := sandboxed(t, sandbox.Model, "COPILOT_GITHUB_TOKEN=github_pat_none", "HTTPS_PROXY="+proxy.URL)
	_, err := h.Models(t.Context())
	require.NoError(t, err, "the demo is listed")
	select {
	case request := <-asked:
		assert.Equal(t, "CONNECT api.github.com:443", request)
	case <-time.After(late):
		assert.Fail(t, "the CLI does not use the configured proxy")
	}
}

func TestCLIUnpacksAgainAfterAFailureAndAnUpdate(t *testing.T) {
	dir := t.TempDir()
	cli, runs := filepath.Join(dir, "copilot"), filepath.Join(dir, "runs")
	write := func(end string, modified time.Time) {
		require.NoError(t, os.WriteFile(cli, []byte("#!/bin/sh\necho >> "+runs+"\n"+end+"\n"), 0o700))
		require.NoError(t, os.Chtimes(cli, modified, modified))
	}
	d := sdk.New(sdk.Options{})
	unpack := func() int {
		sdk.Unpack(t.Context(), d, cli)
		text, err := os.ReadFile(runs)
		require.NoError(t, err)
		return len(text)
	}
	day := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	write("exit 1", day)
	assert.Equal(t, 1, unpack())
	assert.Equal(t, 2, unpack(), "it failed")
	write("exit 0", day)
	assert.Equal(t, 3, unpack())
	assert.Equal(t, 3, unpack(), "it is done")
	write("exit 0", day.AddDate(0, 0, 1))
	assert.Equal(t, 4, unpack(), "another version")
}

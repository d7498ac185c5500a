package server_test

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// withoutBubblewrap returns a PATH without bwrap.
func withoutBubblewrap(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"sh", "git", "bash"} {
		if path, err := exec.LookPath(name); err == nil {
			require.NoError(t, os.Symlink(path, filepath.Join(dir, name)))
		}
	}
	return "PATH=" + dir
}

func TestNoSessionStartsWithoutAWorkingSandbox(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--sandbox", "--token", "secret"}, Env: []string{withoutBubblewrap(t)}})
	start := func(token string) (int, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+"/api/copilot/session/start/demo", strings.NewReader(t.TempDir()))
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(t, err)
		defer answer.Body.Close()
		text, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		return answer.StatusCode, string(text)
	}
	_, said := start("secret")
	assert.Contains(t, said, "bubblewrap (bwrap) is not installed: install the package bubblewrap, or set sandbox: false")
	code, _ := start("wrong")
	assert.Equal(t, http.StatusUnauthorized, code)
}

func TestSandboxNetworkIsConfigurable(t *testing.T) {
	service, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, service.Close()) })
	address := strings.Replace(service.Addr().String(), ":", "/", 1)
	for network, want := range map[string]string{"shared": "it is open", "model": "Connection refused"} {
		t.Run(network, func(t *testing.T) {
			directory := t.TempDir()
			script := "exec 3<>/dev/tcp/" + address + " && echo it is open"
			require.NoError(t, os.WriteFile(filepath.Join(directory, "reach.sh"), []byte(script), 0o600))
			as := exec.Cmd{Env: portaltest.Environ(t.TempDir()), Dir: directory}
			code, answer, said := runCommand(t, 2*time.Minute, as, []string{"ask", "--sandbox", "--sandbox-network", network, "--permissions", "allow", "run `bash reach.sh`"})
			assert.Zero(t, code, said)
			assert.Contains(t, answer, want)
		})
	}
}

// withoutNetworks returns a PATH whose bwrap cannot create networks.
func withoutNetworks(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ncase \"$*\" in *--unshare-net*) echo 'bwrap: loopback: Failed RTM_NEWADDR' >&2; exit 1;; esac\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bwrap"), []byte(script), 0o700))
	return "PATH=" + dir + ":" + os.Getenv("PATH")
}

func TestNoSessionStartsWithoutTheConfiguredNetwork(t *testing.T) {
	t.Parallel()
	as := exec.Cmd{Env: append(portaltest.Environ(t.TempDir()), withoutNetworks(t)), Dir: t.TempDir()}
	code, _, said := runCommand(t, 2*soon, as, []string{"ask", "--sandbox", "--sandbox-network", "model", "say `hello`"})
	assert.Equal(t, 1, code)
	assert.Contains(t, said, "bubblewrap cannot create a network here (bwrap: loopback: Failed RTM_NEWADDR)")
	assert.Contains(t, said, "set sandbox_network: shared")
	code, e, _ := examine(t, "{sandbox: true, sandbox_network: model}", []string{withoutNetworks(t)}, "--port", "0")
	assert.Equal(t, 1, code)
	assert.Contains(t, e.find("sandbox"), "problem: bubblewrap cannot create a network here")
}

func TestDoctorShowsWhetherTheSandboxWorks(t *testing.T) {
	t.Parallel()
	code, e, _ := examine(t, "sandbox: true", []string{withoutBubblewrap(t)}, "--port", "0")
	assert.Equal(t, 1, code)
	assert.Contains(t, e.find("sandbox"), "problem: bubblewrap (bwrap) is not installed")
	code, e, _ = examine(t, "{sandbox: true, sandbox_network: model}", nil, "--port", "0")
	assert.Equal(t, 0, code, e)
	assert.Contains(t, e.find("sandbox"), "ok: bubblewrap works; the agent can only write to the working directory and only reach its models")
}

func TestSandboxedPortalRequiresATokenOnLoopback(t *testing.T) {
	t.Parallel()
	s := inside(t, func(c *server.Config) { c.Sandbox = true })
	serve(t, s)
	assert.Regexp(t, `\?token=.{26,}$`, s.URL())
}

func TestSandboxHidesTheSecretsOfThePortal(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, err := os.Getwd()
	require.NoError(t, err)
	c, err := load(t, "{sandbox: true, data_dir: /data, tls: {cert: cert.pem, key: key.pem}, cluster: {nats: ['nats://a'], name: n, credentials: /nats.creds, tls: {cert: c.pem, key: c-key.pem}}}", nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"/data", c.File, filepath.Join(dir, "key.pem"), "/nats.creds", filepath.Join(dir, "c-key.pem")}, c.Hidden())
}

func TestSandboxNeedsAHomeDirectory(t *testing.T) {
	_, err := server.Load(server.Sources{Flags: flags(t, "--sandbox", "--ephemeral")})
	require.ErrorContains(t, err, "sandbox: the environment names no home directory (HOME)")
}

func TestPortalForOtherHostNamesRequiresAToken(t *testing.T) {
	t.Parallel()
	s := inside(t, func(c *server.Config) { c.AllowedHosts = []string{"portal.example"} })
	serve(t, s)
	assert.Regexp(t, `\?token=.{26,}$`, s.URL())
}

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/demo"
	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// command runs bin/portal, which must end soon.
func command(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	home := t.TempDir()
	env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "COPILOT_HOME=" + home}, env...)
	return runCommand(t, soon, exec.Cmd{Env: env}, args)
}

// runCommand runs bin/portal with the environment, directory and input of as. It must end within limit.
func runCommand(t *testing.T, limit time.Duration, as exec.Cmd, args []string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	c := exec.CommandContext(ctx, portaltest.Binary(t), args...)
	c.Env, c.Dir, c.Stdin = as.Env, as.Dir, as.Stdin
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the exit code is checked instead
	require.NoError(t, ctx.Err(), "the command did not end: %s", errs.String())
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

func TestCommandLine(t *testing.T) {
	config := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(config, []byte("prot: 1"), 0o600))
	const help = "See portal --help.\n"
	for name, tc := range map[string]struct {
		args           []string
		env            []string
		code           int
		stdout, stderr string // parts; "" for no output
	}{
		"version":                                  {[]string{"version"}, nil, 0, "portal ", ""},
		"version as a flag":                        {[]string{"--version"}, nil, 0, "portal ", ""},
		"a misspelt command":                       {[]string{"sesions"}, nil, 2, "", `"sesions" is not a command: did you mean sessions?` + "\n" + help},
		"a misspelt command with a subcommand":     {[]string{"session", "list"}, nil, 2, "", `"session" is not a command: did you mean sessions`},
		"help":                                     {[]string{"--help"}, nil, 0, "--copilot-path", ""},
		"short help":                               {[]string{"-h"}, nil, 0, "Usage:", ""},
		"an unknown flag":                          {[]string{"--prot", "1"}, nil, 2, "", "unknown flag: --prot\n" + help},
		"a flag without its value":                 {[]string{"--port"}, nil, 2, "", "flag needs an argument: --port\n" + help},
		"a port that is not a number":              {[]string{"eight"}, nil, 2, "", `"eight" is not a port: use a number from 0 to 65535` + "\n" + help},
		"too large a port":                         {[]string{"65536"}, nil, 2, "", `"65536" is not a port`},
		"a negative port":                          {[]string{"--", "-1"}, nil, 2, "", `"-1" is not a port`},
		"a fractional port":                        {[]string{"80.5"}, nil, 2, "", `"80.5" is not a port`},
		"two ports":                                {[]string{"1", "2"}, nil, 2, "", "expected at most one port"},
		"a port flag that is not a number":         {[]string{"--port", "eight"}, nil, 2, "", "--port"},
		"too large a port flag":                    {[]string{"--port", "65536"}, nil, 2, "", `"65536" is not a port`},
		"the port twice":                           {[]string{"--port", "1", "2"}, nil, 2, "", "not both"},
		"an argument of version":                   {[]string{"version", "x"}, nil, 2, "", help},
		"an unknown flag of version":               {[]string{"version", "--x"}, nil, 2, "", "unknown flag: --x\n" + help},
		"a missing configuration":                  {[]string{"--config", "/nowhere/config.yaml"}, nil, 1, "", "/nowhere/config.yaml"},
		"an invalid configuration":                 {[]string{"--config", config}, nil, 1, "", "unknown keys: prot"},
		"an invalid variable":                      {nil, []string{"PORTAL_PORT=x"}, 1, "", "'port' cannot parse"},
		"a variable that sets nothing":             {nil, []string{"PORTAL_PROT=1"}, 1, "", "unknown variables: PORTAL_PROT"},
		"an invalid base path":                     {[]string{"--base-path", "a?b"}, nil, 1, "", `base_path: "/a?b" is not a plain path`},
		"the configuration":                        {[]string{"config", "--base-path", "/p", "9"}, []string{"PORTAL_TOKEN=s"}, 0, "port: 9 # flag --port\nhost: localhost # default\nbase_path: /p # flag --base-path\n", ""},
		"the configuration with secrets":           {[]string{"config", "--show-secrets"}, []string{"PORTAL_TOKEN=s"}, 0, "token: s # variable PORTAL_TOKEN\n", ""},
		"an invalid configuration to print":        {[]string{"config", "--config", config}, nil, 1, "", "unknown keys: prot"},
		"an invalid port of doctor":                {[]string{"doctor", "eight"}, nil, 2, "", `"eight" is not a port`},
		"completions of an unknown shell":          {[]string{"completion", "tcsh"}, nil, 2, "", help},
		"completions with an argument":             {[]string{"completion", "bash", "x"}, nil, 2, "", help},
		"a port of a command that does not listen": {[]string{"models", "--port", "1"}, nil, 2, "", "unknown flag: --port"},
		"the address of another machine":           {[]string{"--host", "192.0.2.1", "--port", "0"}, nil, 1, "", "cannot listen on 192.0.2.1"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, tc.env, tc.args...)
			assert.Equal(t, tc.code, code, stderr)
			for _, check := range [][2]string{{tc.stdout, stdout}, {tc.stderr, stderr}} {
				if check[0] == "" {
					assert.Empty(t, check[1])
				}
				assert.Contains(t, check[1], check[0])
			}
			assert.NotContains(t, stderr, "%!")
			assert.NotContains(t, stderr, "Usage:", "the help does not hide the fault")
		})
	}
}

func TestPortInUseFailsWithHint(t *testing.T) {
	port := occupy(t, "127.0.0.1:0")
	code, stdout, stderr := command(t, nil, fmt.Sprint(port))
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, fmt.Sprintf("portal: port %d is in use", port))
	assert.Contains(t, stderr, "`portal 0`")
}

func TestPortIsADecimalNumber(t *testing.T) {
	port := occupy(t, "127.0.0.1:0")
	_, _, stderr := command(t, nil, fmt.Sprintf("0%d", port)) // octal for the flag library
	assert.Contains(t, stderr, fmt.Sprintf("port %d is in use", port))
}

// Other tests stop portals with SIGTERM and SIGHUP.
func TestInterruptEndsThePortal(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Query(id, "run `sleep 60`")
	p.Until(id, "onStartToolExecution")
	begin := time.Now()
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGINT))
	p.WaitExit(3 * time.Second)
	t.Logf("ended in %v", time.Since(begin))
	assert.Equal(t, "SIDECAR_PORT="+p.Port+"\n", p.Stdout(), "no other output")
}

func TestSignalsOfOneStopEndThePortalGracefully(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	p.StartSession(t.TempDir(), "")
	// Like the shell and the kernel when a terminal is closed. Those within a second count as one.
	for began := time.Now(); time.Since(began) < 300*time.Millisecond && syscall.Kill(p.PID, syscall.SIGHUP) == nil; {
		time.Sleep(tick)
	}
	p.WaitExit(5 * time.Second)
}

func TestSecondInterruptKillsThePortalAtOnce(t *testing.T) {
	t.Parallel()
	for attempt := 0; attempt < 3 && interruptTwice(t) != -1; attempt++ { // a busy machine interrupts it too late
		require.Less(t, attempt, 2, "the signal does not kill the portal")
	}
}

// interruptTwice interrupts a portal, which takes 1.5 s to end, until it ends. It returns the exit code.
func interruptTwice(t *testing.T) int {
	t.Helper()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Query(id, "run `sleep 60`")
	p.Until(id, "onStartToolExecution")
	require.NoError(t, syscall.Kill(p.Agents()[0].PID, syscall.SIGSTOP)) // otherwise the portal ends too soon
	require.Eventually(t, func() bool { return syscall.Kill(p.PID, syscall.SIGINT) != nil }, soon, tick)
	p.Kill()
	require.Eventually(t, func() bool { // its agent would write to the directory that the test removes
		left := p.Children()
		for _, c := range left {
			_ = syscall.Kill(c.PID, syscall.SIGKILL)
		}
		return len(left) == 0
	}, soon, tick)
	return p.ExitCode()
}

func TestHangingAgentDoesNotDelayShutdown(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	idle := p.StartSession(t.TempDir(), "")
	id := p.StartSession(t.TempDir(), "")
	p.Query(id, "run `sleep 60`")
	p.Until(id, "onStartToolExecution")
	require.NoError(t, syscall.Kill(p.Agents()[0].PID, syscall.SIGSTOP))
	p.Query(idle, strings.Repeat("much to send ", 1<<20)) // more than an unread connection buffers
	begin := testclock.Now()
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGTERM))
	p.WaitExit(5 * time.Second)
	t.Logf("ended in %v", begin.Elapsed())
	assert.Less(t, begin.Elapsed(), 4*time.Second)
}

func TestUnreadOutputDoesNotBlockThePortal(t *testing.T) {
	c := exec.Command(portaltest.Binary(t), "--port", "0", "--debug")
	home := t.TempDir()
	c.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "COPILOT_HOME="+home)
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	errs, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	defer func() { _ = c.Process.Kill() }()
	line := make([]byte, 64)
	n, err := out.Read(line)
	require.NoError(t, err)
	port := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "SIDECAR_PORT="))
	require.NoError(t, out.Close())
	require.NoError(t, errs.Close()) // the parent reads nothing more
	for range 50 {
		r := send(t, "127.0.0.1:"+port, "GET /api/test HTTP/1.1\r\nHost: localhost\r\n\r\n")
		require.Equal(t, 200, r.status)
	}
	send(t, "127.0.0.1:"+port, "GET /api/stop HTTP/1.1\r\nHost: localhost\r\n\r\n")
	require.NoError(t, c.Wait())
}

func TestMissingCLIIsExplained(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		args, env []string
		want      string
	}{
		"its configured path does not exist":      {[]string{"--copilot-path", "/nowhere/copilot"}, nil, "--copilot-path or copilot_path names /nowhere/copilot"},
		"the path in the variable does not exist": {nil, []string{"COPILOT_CLI_PATH=/nowhere/copilot"}, "COPILOT_CLI_PATH names /nowhere/copilot"},
	} {
		t.Run(name, func(t *testing.T) {
			p := portaltest.Start(t, portaltest.Options{Args: tc.args, Env: append(tc.env, "PATH=")})
			for range 2 { // before and after the first attempt to start it
				var h struct {
					Status string
					Agent  struct{ State, Message, Hint string }
				}
				status, body := p.Do("GET", "/health", "")
				assert.Equal(t, 200, status)
				require.NoError(t, json.Unmarshal([]byte(body), &h))
				assert.Equal(t, "ok", h.Status)
				assert.Equal(t, "missing", h.Agent.State)
				assert.Contains(t, h.Agent.Message, tc.want)
				assert.Contains(t, h.Agent.Hint, "`portal setup`")
				for _, r := range [][2]string{{"GET", "/api/copilot/models"}, {"POST", "/api/copilot/session/start/demo"}} {
					status, body := p.Do(r[0], r[1], t.TempDir())
					assert.Equal(t, 503, status, r)
					var e struct{ Error string }
					require.NoError(t, json.Unmarshal([]byte(body), &e))
					assert.Contains(t, e.Error, "The Copilot CLI was not found")
					assert.Contains(t, e.Error, "`portal setup`")
				}
			}
			status, _ := p.Do("GET", "/", "")
			assert.Equal(t, 200, status)
		})
	}
}

func TestConfiguredProviderIsUsed(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(demo.NewHandler("the-key"))
	defer s.Close()
	config := fmt.Sprintf("providers:\n  - name: mine\n    base_url: %s/v1\n    api_key_env: MY_KEY\n", s.URL)
	t.Run("and the demo is not listed", func(t *testing.T) {
		p := portaltest.Start(t, portaltest.Options{Config: config, Env: []string{"MY_KEY=the-key"}})
		want := []any{map[string]any{"id": "mine/demo", "name": "demo (mine)", "multiplier": 0.0}}
		require.Eventually(t, func() bool { return assert.ObjectsAreEqual(want, p.API("GET", "copilot/models", "")["models"]) }, agentStarts, tick, "on a busy machine, the provider may not answer in time")
		assert.Equal(t, "ModelIdNotFound", p.API("POST", "copilot/session/start/demo", t.TempDir()).Text("error"))
		for _, model := range []string{"mine/demo", "mine%2Fdemo"} {
			id := p.API("POST", "copilot/session/start/"+model, t.TempDir()).Text("sessionId")
			require.NotEmpty(t, id)
			assert.Equal(t, "it is me", portaltest.Answer(p.Run(id, "say `it is me`")))
		}
	})
	t.Run("unless it is requested", func(t *testing.T) {
		p := portaltest.Start(t, portaltest.Options{Config: config, Env: []string{"MY_KEY=the-key"}, Args: []string{"--demo"}})
		require.Eventually(t, func() bool {
			var ids []string
			models, _ := p.API("GET", "copilot/models", "")["models"].([]any)
			for _, m := range models {
				ids = append(ids, m.(map[string]any)["id"].(string))
			}
			return slices.Equal(ids, []string{"mine/demo", "demo"})
		}, agentStarts, tick, "on a busy machine, the provider may not answer in time")
		assert.Equal(t, "it is the demo", portaltest.Answer(p.Run(p.StartSession(t.TempDir(), ""), "say `it is the demo`")))
	})
	t.Run("with a wrong key there is no model, and the error says why", func(t *testing.T) {
		p := portaltest.Start(t, portaltest.Options{Config: config, Env: []string{"MY_KEY=wrong"}})
		require.Eventually(t, func() bool { // on a busy machine, the provider may not answer in time
			status, answer := p.Do("GET", "/api/copilot/models", "")
			return status == http.StatusServiceUnavailable && strings.Contains(answer, "the provider mine lists no models") && strings.Contains(answer, "401 Unauthorized")
		}, agentStarts, tick)
		require.Eventually(t, func() bool { return strings.Contains(p.Stderr(), "401 Unauthorized") }, soon, tick, "the log is written concurrently")
		assert.NotContains(t, p.Stderr(), "wrong")
	})
}

func TestManualPagesDescribeEveryCommand(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "man1")
	code, _, stderr := command(t, []string{"SOURCE_DATE_EPOCH=86400"}, "man", dir)
	require.Zero(t, code, stderr)
	for page, want := range map[string]string{"portal.1": "--copilot-path", "portal-setup.1": "--from", "portal-jobs-run.1": "--directory"} {
		text, err := os.ReadFile(filepath.Join(dir, page))
		require.NoError(t, err)
		assert.Contains(t, string(text), want, page)
		assert.Contains(t, string(text), `"Jan 1970"`, page)
	}
}

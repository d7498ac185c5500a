package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// greet is the first message of a UI.
const greet = `{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocol_version":"0","client":{"name":"test","version":"1"}}}`

// agentStarts is the time limit of an answer that needs an agent to start.
const agentStarts = 2 * time.Minute

// answer receives the response to a request and skips other messages.
func answer(t *testing.T, u *portaltest.UI, id string) document {
	t.Helper()
	for {
		line, err := u.Receive(agentStarts)
		require.NoError(t, err)
		var d document
		require.NoError(t, json.Unmarshal([]byte(line), &d), line)
		if d["id"] == id {
			return d
		}
	}
}

func TestStdioPortalStopsAtTheEndOfItsInput(t *testing.T) {
	t.Parallel()
	s := portaltest.Stdio(t)
	s.Send(greet)
	result, _ := answer(t, s.UI, "1")["result"].(document)
	assert.Equal(t, "0", result["protocol_version"])
	assert.Empty(t, listening(t, s.PID), "no port is opened")
	began := testclock.Now()
	s.CloseInput()
	assert.Empty(t, s.Rest())
	assert.Equal(t, 0, s.Wait())
	t.Logf("ended in %v", began.Elapsed())
	assert.Less(t, began.Elapsed(), 3*time.Second)
}

// listening lists the sockets on which a process listens.
func listening(t *testing.T, pid int) (list []string) {
	t.Helper()
	mine := map[string]bool{}
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		if to, err := os.Readlink(f); err == nil && strings.HasPrefix(to, "socket:[") {
			mine[strings.Trim(to[len("socket:"):], "[]")] = true
		}
	}
	for _, table := range []string{"tcp", "tcp6"} {
		all, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, table))
		require.NoError(t, err)
		defer all.Close()
		for lines := bufio.NewScanner(all); lines.Scan(); {
			const state, inode, listens = 3, 9, "0A"
			f := strings.Fields(lines.Text())
			if len(f) > inode && f[state] == listens && mine[f[inode]] {
				list = append(list, f[1])
			}
		}
	}
	return list
}

func hasOpenPort(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	assert.NotEmpty(t, listening(t, p.PID), "otherwise the check above could never fail")
}

func TestLastRequestBeforeEndOfInputIsAnswered(t *testing.T) {
	t.Parallel()
	answersLastRequest(t, portaltest.Stdio(t, "--demo"))
}

func answersLastRequestOfBridge(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	answersLastRequest(t, portaltest.Stdio(t, "--attach", p.URL))
}

func answersLastRequest(t *testing.T, s *portaltest.Stream) {
	t.Helper()
	s.Send(greet)
	s.Send(`{"jsonrpc":"2.0","id":"2","method":"model.list"}`)
	answer(t, s.UI, "2") // the agent runs; otherwise the answer could take longer
	s.Send(`{"jsonrpc":"2.0","id":"3","method":"mcp.list"}`)
	s.CloseInput()
	assert.Contains(t, answer(t, s.UI, "3"), "result")
	assert.Empty(t, s.Rest())
	assert.Equal(t, 0, s.Wait())
}

// TestStdioRunsEndWithATerminalStatus does this with SIGTERM and SIGINT.
func TestStdioPortalStopsItsAgent(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*portaltest.Stream){
		"by its input": func(s *portaltest.Stream) { s.CloseInput() },
		"by SIGHUP":    func(s *portaltest.Stream) { s.Signal(syscall.SIGHUP) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := portaltest.Stdio(t, "--demo")
			s.Send(`{"jsonrpc":"2.0","id":"2","method":"model.list"}`)
			require.Contains(t, answer(t, s.UI, "2"), "result")
			require.NotEmpty(t, s.Children())
			began := testclock.Now()
			end(s)
			assert.Equal(t, 0, s.Wait())
			t.Logf("ended in %v", began.Elapsed())
			assert.Less(t, began.Elapsed(), 4*time.Second)
			assert.Empty(t, s.Children())
		})
	}
}

func TestKilledStdioPortalLeavesNoAgent(t *testing.T) {
	t.Parallel()
	s := portaltest.Stdio(t, "--demo")
	s.Send(`{"jsonrpc":"2.0","id":"2","method":"model.list"}`)
	require.Contains(t, answer(t, s.UI, "2"), "result")
	require.NotEmpty(t, s.Children())
	s.Kill()
	assert.Eventually(t, func() bool { return len(s.Children()) == 0 }, soon, tick)
}

func endsStdioWithItsOutput(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	for name, args := range map[string][]string{"of its own": nil, "across a bridge": {"--attach", p.URL}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := portaltest.Stdio(t, args...)
			s.Send(greet)
			answer(t, s.UI, "1")
			s.CloseOutput()
			s.Send(greet)
			assert.Equal(t, 1, s.Wait())
			assert.Contains(t, s.Stderr(), "broken pipe")
			assert.NotContains(t, s.Stderr(), "panic")
		})
	}
}

func stopsStdioWithUnreadOutput(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	for name, tc := range map[string]struct {
		args []string
		end  func(*exec.Cmd, io.Closer) error
	}{
		"of its own, by SIGTERM":      {nil, func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGTERM) }},
		"of its own, by its input":    {nil, func(_ *exec.Cmd, in io.Closer) error { return in.Close() }},
		"across a bridge, by SIGTERM": {[]string{"--attach", p.URL}, func(c *exec.Cmd, _ io.Closer) error { return c.Process.Signal(syscall.SIGTERM) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := exec.Command(portaltest.Binary(t), append([]string{"stdio"}, tc.args...)...)
			c.Env = portaltest.Environ(t.TempDir())
			out, unread, err := os.Pipe()
			require.NoError(t, err)
			defer out.Close()
			c.Stdout = unread
			in, err := c.StdinPipe()
			require.NoError(t, err)
			require.NoError(t, c.Start())
			require.NoError(t, unread.Close())
			for range 3000 { // their answers fill the pipe several times
				_, err := in.Write([]byte(greet + "\n"))
				require.NoError(t, err)
			}
			_, err = bufio.NewReaderSize(out, 16).ReadByte() // it is running
			require.NoError(t, err)
			require.NoError(t, tc.end(c, in))
			ends(t, c, 5*time.Second)
		})
	}
}

func TestBridgeSendsTheTokenFromEverySource(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--token", "secret", "--base-path", "/p"}})
	for name, o := range map[string]portaltest.Options{
		"with the token in the address": {Args: []string{"--attach", p.URL + "/p/?token=secret"}},
		"with the token in a flag":      {Args: []string{"--attach", p.URL + "/p", "--token", "secret"}},
		"with the token in a variable":  {Args: []string{"--attach", "localhost:" + p.Port + "/p"}, Env: []string{"PORTAL_TOKEN=secret"}},
		"with the token in the file":    {Args: []string{"--attach", "ws://localhost:" + p.Port + "/p/"}, Config: "token: secret"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := portaltest.StdioWith(t, o)
			s.Send(greet)
			assert.Contains(t, answer(t, s.UI, "1"), "result")
			s.CloseInput()
			assert.Empty(t, s.Rest())
			assert.Equal(t, 0, s.Wait())
			assert.NotContains(t, s.Stderr(), "secret")
		})
	}
}

func TestBridgeEndsWithItsPortal(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(*portaltest.Portal)
		part string
	}{
		"that stops":     {(*portaltest.Portal).Stop, "has stopped; start it again with: portal"},
		"that is killed": {(*portaltest.Portal).Kill, "start it again with: portal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := portaltest.Start(t, portaltest.Options{})
			s := portaltest.Stdio(t, "--attach", p.URL)
			s.Send(greet)
			answer(t, s.UI, "1")
			tc.end(p)
			assert.Equal(t, 1, s.Wait())
			assert.Regexp(t, "^portal: .*the portal at "+p.URL, s.Stderr())
			assert.Contains(t, s.Stderr(), tc.part)
		})
	}
}

func endsBridgesWithSignals(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		s := portaltest.Stdio(t, "--attach", p.URL)
		s.Send(greet)
		answer(t, s.UI, "1")
		began := testclock.Now()
		s.Signal(signal)
		assert.Equal(t, 0, s.Wait())
		assert.Less(t, began.Elapsed(), 3*time.Second)
	}
}

func TestFailedBridgeExplainsWhy(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--token", "secret", "--base-path", "/p"}})
	free := portaltest.Start(t, portaltest.Options{})
	free.Stop()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no portal":        {[]string{"--attach", free.URL}, "nothing listens at " + free.URL + ": start the portal with: portal\n"},
		"no token":         {[]string{"--attach", p.URL + "/p"}, "requires its token"},
		"a wrong token":    {[]string{"--attach", p.URL + "/p", "--token", "other"}, "requires its token"},
		"no base path":     {[]string{"--attach", p.URL, "--token", "secret"}, "the portal is served below /p/ (base_path)"},
		"no address":       {[]string{"--attach", "http://"}, "is not the address of a portal"},
		"another protocol": {[]string{"--attach", "ftp://localhost"}, "is not the address of a portal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := command(t, nil, append([]string{"stdio"}, tc.args...)...)
			assert.Equal(t, 1, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, tc.want)
			assert.NotContains(t, stderr, "secret")
		})
	}
}

func TestCommandLineOfStdio(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"an argument":                 {[]string{"x"}, `unknown command "x"`},
		"a port":                      {[]string{"--port", "1"}, "unknown flag: --port"},
		"no address":                  {[]string{"--attach", ""}, "--attach: give the address"},
		"a token without an address":  {[]string{"--token", "x"}, "--token requires --attach"},
		"a setting of another portal": {[]string{"--attach", "1", "--demo"}, "--demo has no effect with --attach"},
		"settings of another portal":  {[]string{"--attach", "1", "--ephemeral", "--data-dir", "x"}, "--data-dir has no effect with --attach: configure the other portal instead\n--ephemeral has"},
		"a CLI that is not started":   {[]string{"--attach", "1", "--copilot-path", "x"}, "--copilot-path has no effect with --attach"},
		"a misspelt flag":             {[]string{"--atach", "http://localhost:1"}, "unknown flag: --atach (there is --attach)"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := command(t, nil, append([]string{"stdio"}, tc.args...)...)
			assert.Equal(t, 2, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, tc.want)
			assert.Contains(t, stderr, "See portal --help.\n")
		})
	}
}

func ignoresUnknownStdioFlags(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"a flag with a separate value": {[]string{"--cwd", "x"}, "portal: ignoring --cwd: portal stdio has no such flag\n"},
		"a flag with its value":        {[]string{"--mcp-config=x", "--ephemeral"}, "portal: ignoring --mcp-config: portal stdio has no such flag\n"},
		"an approval mode":             {[]string{"--approval-mode", "full-access"}, ""},
		"a short flag":                 {[]string{"-x"}, "portal: ignoring -x: portal stdio has no such flag\n"},
		"an unknown approval mode":     {[]string{"--approval-mode", "future"}, `portal: ignoring --approval-mode "future": use minimal, trusted or full-access` + "\n"},
		"across a bridge":              {[]string{"--attach", p.URL, "--approval-mode", "minimal"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := portaltest.Stdio(t, tc.args...)
			s.Send(greet)
			assert.Contains(t, answer(t, s.UI, "1"), "result")
			s.CloseInput()
			assert.Empty(t, s.Rest())
			assert.Equal(t, 0, s.Wait())
			assert.Equal(t, tc.want != "", strings.Contains(s.Stderr(), "ignoring"))
			assert.Contains(t, s.Stderr(), tc.want)
		})
	}
	t.Run("other commands know their flags", func(t *testing.T) {
		t.Parallel()
		code, _, stderr := command(t, nil, "models", "--approval-mode", "minimal")
		assert.Equal(t, 2, code)
		assert.Contains(t, stderr, "unknown flag: --approval-mode")
	})
}

func TestFullAccessModeAsksForNoPermission(t *testing.T) {
	t.Parallel()
	s := portaltest.Stdio(t, "--demo", "--approval-mode", "full-access")
	s.Send(strings.Replace(greet, `"client"`, `"ui_capabilities":{"supports_confirm":true},"client"`, 1))
	s.Send(startsRun("2", "run `echo heron`"))
	for line := ""; !strings.Contains(line, `"completed","meta"`); {
		var err error
		line, err = s.Receive(agentStarts)
		require.NoError(t, err)
		require.NotContains(t, line, "ui.confirm.request")
		require.NotContains(t, line, `"status":"error"`)
	}
}

func TestFaultyConfigurationEndsStdio(t *testing.T) {
	code, stdout, stderr := command(t, []string{"PORTAL_PERMISSIONS_HEADLESS=perhaps"}, "stdio")
	assert.Equal(t, 1, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "permissions.headless")
}

func refusesOverlongLines(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	for name, args := range map[string][]string{"of its own": nil, "across a bridge": {"--attach", p.URL}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := portaltest.Stdio(t, args...)
			s.SendLong("x", 64<<20, "")
			line, err := s.Receive(agentStarts)
			require.NoError(t, err)
			assert.JSONEq(t, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":"the message is too long: a line may have 67108864 bytes"}}`, line)
			pad := 64<<20 - len(greet) - len(`"pad":"",`)
			head, tail, _ := strings.Cut(greet, `"params":{`)
			s.SendLong(head+`"params":{"pad":"`, int64(pad), `",`+tail)
			assert.Contains(t, answer(t, s.UI, "1"), "result")
		})
	}
}

func TestWebSocketClientClosesTheConnection(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--token", "secret"}})
	u := p.UI("cwd=/tmp", "Authorization", "Bearer secret")
	u.Send(greet)
	assert.Contains(t, answer(t, u, "1"), "result")
	u.CloseInput()
	assert.Empty(t, u.Rest())
	assert.Equal(t, 0, u.Wait())
}

func TestTerminalIsDetected(t *testing.T) {
	code, shown := onTerminal(t, t.TempDir(), greet+"\n\x04", "stdio")
	assert.Equal(t, 0, code)
	assert.Contains(t, shown, "This command speaks JSON-RPC with programs")
	assert.Contains(t, shown, `"protocol_version":"0"`, "and works nevertheless")
}

func TestUnstartedAgentDoesNotDelayShutdown(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*portaltest.Stream){
		"by its input, after its answer": func(s *portaltest.Stream) { s.CloseInput() },
		"by SIGTERM, with its answer":    func(s *portaltest.Stream) { s.Signal(syscall.SIGTERM) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			silent, started := filepath.Join(dir, "copilot"), filepath.Join(dir, "started")
			require.NoError(t, os.WriteFile(silent, []byte("#!/bin/sh\n: >"+started+"\nexec sleep 60\n"), 0o700))
			s := portaltest.StdioWith(t, portaltest.Options{Args: []string{"--copilot-path", silent}, Env: []string{"PORTAL_POOL_START_TIMEOUT=2s"}})
			s.Send(`{"jsonrpc":"2.0","id":"2","method":"model.list"}`)
			require.Eventually(t, func() bool {
				_, err := os.Stat(started)
				return err == nil
			}, soon, tick)
			began := testclock.Now()
			end(s)
			assert.Contains(t, answer(t, s.UI, "2"), "error")
			assert.Equal(t, 0, s.Wait())
			assert.Less(t, began.Elapsed(), 4*time.Second)
			assert.Empty(t, s.Children())
		})
	}
}

package server_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// inHome runs a command of bin/portal with the data of a portal and without a terminal.
func inHome(t *testing.T, p *portaltest.Portal, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	return runCommand(t, 2*soon, exec.Cmd{Env: portaltest.Environ(p.Home), Dir: t.TempDir(), Stdin: strings.NewReader("")}, args)
}

// eventually waits for a condition that holds as soon as events are stored.
func eventually(t *testing.T, what func() bool) {
	t.Helper()
	require.Eventually(t, what, soon, 100*time.Millisecond)
}

func TestSessionCommandsWorkWithAndWithoutAPortal(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	dir := t.TempDir()
	id, other := p.StartSession(dir, ""), p.StartSession(dir, "")
	p.Run(id, "say `the heron stands`")
	p.Run(other, "say `nothing of interest`")
	require.Equal(t, portaltest.Response{}, p.API("POST", "copilot/session/"+id+"/rename", "Birds\x1b[31m of the lake"))
	eventually(t, func() bool {
		_, found, _ := inHome(t, p, "sessions", "search", "heron")
		return strings.Contains(found, "answer") && strings.Contains(found, "Birds")
	})
	for _, c := range []struct {
		when   string
		listed string
	}{{"beside a portal", fmt.Sprintf("idle in process %d", p.PID)}, {"without one", "idle"}} {
		t.Run(c.when, func(t *testing.T) {
			code, stdout, stderr := inHome(t, p, "sessions", "list")
			assert.Equal(t, 0, code)
			assert.Empty(t, stderr)
			lines := strings.Split(strings.TrimSpace(stdout), "\n")
			require.Len(t, lines, 2)
			assert.NotContains(t, stdout, "\x1b")
			line := lines[0]
			if !strings.HasPrefix(line, id[:8]) {
				line = lines[1]
			}
			assert.Regexp(t, `^`+id[:8]+`  \d\d:\d\d  `+c.listed+`  demo  \S+  Birds \[31m of the lake$`, line)

			var list struct {
				Sessions []struct{ SessionID, Title, State, WorkingDirectory string }
			}
			code, stdout, _ = inHome(t, p, "sessions", "list", "--json", "--all")
			assert.Equal(t, 0, code)
			require.NoError(t, json.Unmarshal([]byte(stdout), &list))
			require.Len(t, list.Sessions, 2)
			assert.Equal(t, dir, list.Sessions[0].WorkingDirectory)

			code, stdout, stderr = inHome(t, p, "sessions", "list", "--limit", "1")
			assert.Equal(t, 0, code)
			assert.Len(t, strings.Split(strings.TrimSpace(stdout), "\n"), 1)
			assert.Contains(t, stderr, "There are more")

			code, stdout, _ = inHome(t, p, "sessions", "show", id[:8])
			assert.Equal(t, 0, code)
			assert.Contains(t, stdout, "the heron stands")
			assert.NotContains(t, stdout, "nothing of interest")

			var found struct {
				Results []struct {
					SessionID, Title, Kind, Snippet string
					Hits                            [][2]int
				}
			}
			code, stdout, _ = inHome(t, p, "sessions", "search", "heron", "stands", "--json")
			assert.Equal(t, 0, code)
			require.NoError(t, json.Unmarshal([]byte(stdout), &found))
			require.Len(t, found.Results, 3, "the prompt, the answer and the agent's title")
			for _, r := range found.Results {
				assert.Equal(t, id, r.SessionID)
				assert.Len(t, r.Hits, 2)
			}

			file := filepath.Join(t.TempDir(), "talk.jsonl")
			code, stdout, _ = inHome(t, p, "sessions", "export", id, "--format", "jsonl", "-o", file)
			assert.Equal(t, 0, code)
			assert.Empty(t, stdout)
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			assert.True(t, strings.HasPrefix(string(text), `{"v":1,"type":"session","id":"`+id+`"`))
			assert.Contains(t, string(text), `"type":"run.ended"`)
			info, err := os.Stat(file)
			require.NoError(t, err)
			assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "only this user can read it")
			_, stdout, _ = inHome(t, p, "sessions", "export", id, "-o", "-")
			assert.Contains(t, stdout, "the heron stands")

			code, stdout, stderr = inHome(t, p, "sessions", "rename", other, "Renamed "+c.when)
			assert.Zero(t, code, stderr)
			eventually(t, func() bool {
				_, stdout, _ = inHome(t, p, "sessions", "list")
				return strings.Contains(stdout, "Renamed "+c.when)
			})
		})
		p.Stop()
	}
}

func TestCommandsChangeClosedSessions(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `x`")
	p.API("POST", "copilot/session/"+id+"/stop", "")
	eventually(t, func() bool {
		code, _, _ := inHome(t, p, "sessions", "rename", id[:8], "Another", "title")
		return code == 0
	})
	listed, _ := p.API("GET", "copilot/session", "")["sessions"].([]any)
	require.Len(t, listed, 1)
	assert.Equal(t, "Another title", listed[0].(map[string]any)["title"])

	saved := filepath.Join(p.Home, "session-state", id)
	require.DirExists(t, saved, "the CLI has its own copy")
	code, _, stderr := inHome(t, p, "sessions", "delete", "--yes", id[:8], id)
	assert.Equal(t, 0, code, stderr)
	assert.Empty(t, stderr)
	assert.NoDirExists(t, saved)
	assert.Empty(t, p.API("GET", "copilot/session", "")["sessions"])
	assert.Equal(t, "SessionNotFound", p.API("POST", "copilot/session/"+id+"/query", "x").Text("error"))
}

func TestSessionsOfAStoppedPortalAreDeleted(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id, other := p.StartSession(t.TempDir(), ""), p.StartSession(t.TempDir(), "")
	p.Run(id, "say `x`")
	p.Run(other, "say `x`")
	p.Stop()
	t.Run("without the CLI", func(t *testing.T) {
		code, _, stderr := inHome(t, p, "sessions", "delete", "--yes", "--copilot-path", "/nowhere/copilot", other)
		assert.Equal(t, 0, code)
		assert.Contains(t, stderr, "the session is deleted, but the agent's own copy is not")
		assert.Contains(t, stderr, "/nowhere/copilot")
	})
	t.Run("after a confirmation on a terminal", func(t *testing.T) {
		for _, c := range []struct {
			answer, left string
		}{{"n", id[:8]}, {"", id[:8]}, {"y", ""}} {
			code, shown := onTerminal(t, p.Home, c.answer+"\n", "sessions", "delete", id)
			assert.Equal(t, 0, code)
			assert.Contains(t, shown, "Delete permanently? [y/N]")
			assert.Contains(t, shown, id[:8])
			_, stdout, _ := inHome(t, p, "sessions", "list")
			assert.Contains(t, stdout, c.left)
			assert.Equal(t, c.left == "", stdout == "")
		}
	})
	code, stdout, stderr := inHome(t, p, "sessions", "list")
	assert.Equal(t, 0, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "No sessions are stored.")
}

// onTerminal runs a command in a terminal and types input.
func onTerminal(t *testing.T, home, input string, args ...string) (code int, shown string) {
	t.Helper()
	line := strings.Join(append([]string{portaltest.Binary(t)}, args...), " ")
	c := exec.Command("script", "--quiet", "--return", "--command", line, "/dev/null")
	c.Env, c.Dir, c.Stdin = portaltest.Environ(home), t.TempDir(), strings.NewReader(input)
	out, err := c.CombinedOutput()
	if fault := (&exec.ExitError{}); err != nil {
		require.ErrorAs(t, err, &fault, "%s", out)
	}
	return c.ProcessState.ExitCode(), string(out)
}

func TestSessionCommandErrors(t *testing.T) {
	home := t.TempDir()
	for name, tc := range map[string]struct {
		args   []string
		code   int
		stderr string
	}{
		"no command":              {[]string{}, 2, "name a subcommand: delete, export, list, permissions, rename, revoke, search, show"},
		"nothing stored":          {[]string{"list"}, 0, "No sessions are stored."},
		"nothing found":           {[]string{"search", "x"}, 0, "No matches."},
		"no words":                {[]string{"search"}, 2, "requires at least 1 arg"},
		"an unknown id":           {[]string{"show", "abc"}, 1, `no session id begins with "abc"`},
		"an empty id":             {[]string{"show", ""}, 1, `no session id begins with ""`},
		"an unknown format":       {[]string{"export", "abc", "--format", "pdf"}, 2, "use markdown or jsonl"},
		"a limit of zero":         {[]string{"list", "--limit", "0"}, 2, "at least 1"},
		"a limit and all":         {[]string{"list", "--limit", "1", "--all"}, 2, "not both"},
		"an ephemeral store":      {[]string{"list", "--ephemeral"}, 2, "--ephemeral"},
		"no terminal to ask":      {[]string{"delete", "abc"}, 2, "confirm with --yes"},
		"deleting an unknown one": {[]string{"delete", "--yes", "abc"}, 1, `no session id begins with "abc"`},
		"a rename without title":  {[]string{"rename", "abc"}, 2, "requires at least 2 arg"},
	} {
		t.Run(name, func(t *testing.T) {
			code, stdout, stderr := runCommand(t, soon, exec.Cmd{Env: portaltest.Environ(home)}, append([]string{"sessions"}, tc.args...))
			assert.Equal(t, tc.code, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, tc.stderr)
			assert.NoDirExists(t, filepath.Join(home, "copilot-portal"), "reading creates no directory")
		})
	}
}

func TestShellsCompleteSessionIDs(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "")
	p.API("POST", "copilot/session/"+id+"/rename", "A\ttitle")
	eventually(t, func() bool {
		_, stdout, _ := inHome(t, p, "__complete", "sessions", "show", "")
		return strings.HasPrefix(stdout, id+"\tA title\n")
	})
	for _, words := range [][]string{{"show", id}, {"delete", id}, {"rename", id}} {
		_, stdout, _ := inHome(t, p, append(append([]string{"__complete", "sessions"}, words...), "")...)
		assert.Regexp(t, `^:\d+\n$`, stdout, words)
	}
}

func TestReaderContinuesAfterARestart(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	args := []string{"--data-dir", data}
	first := portaltest.Start(t, portaltest.Options{Args: args})
	id := first.StartSession(t.TempDir(), "")
	assert.Contains(t, portaltest.Answer(first.Run(id, "say `first`")), "first")
	first.Query(id, "say `unread`")
	eventually(t, func() bool {
		_, answer := first.Do("GET", "/api/copilot/session/"+id+"/history", "")
		return strings.Count(answer, `"run.ended"`) == 2
	})
	first.Stop()

	second := portaltest.Start(t, portaltest.Options{Args: args})
	assert.Equal(t, "unread", portaltest.Answer(second.Until(id, "onIdle")))
	assert.Contains(t, portaltest.Answer(second.Run(id, "say `third`")), "third")
	_, answer := second.Do("GET", "/api/copilot/session/"+id+"/history?limit=10", "")
	assert.Contains(t, answer, `"next":`)
	status, answer := second.Do("DELETE", "/api/copilot/session/"+id, "", "Origin", "http://evil.example")
	assert.Equal(t, 403, status)
	assert.Contains(t, answer, "refused")
	status, answer = second.Do("DELETE", "/api/copilot/session/"+id, "")
	assert.Equal(t, 200, status)
	assert.Equal(t, "{}", answer)
	_, metrics := second.Do("GET", "/metrics", "")
	assert.Contains(t, metrics, `portal_http_requests_total{method="DELETE",route="/api/copilot/session/:id",status="200"} 1`)
}

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// example is a client in spec/examples.
type example struct {
	interpreter string
	file        string
	notes       []string // on standard error, in any order, with ID for each id
	streams     int      // streams that it opens
	state       string   // of its session afterwards; "" if it is deleted
}

// examples returns the clients by the program that each needs.
func examples() map[string]example {
	streamed := []string{
		"# session ID", "# connection dropped after ID", "# bash running", "# allowed once: ls", "# bash completed", "# run completed", "# session closed",
	}
	polled := []string{"# session ID", "# connection dropped", "# allowed once: ls", "# tool completed", "# run completed", "# session deleted"}
	return map[string]example{
		"curl":    {"sh", "client.sh", polled, 0, ""},
		"node":    {"node", "client.mjs", streamed, 2, "closed"},
		"python3": {"python3", "client.py", streamed, 2, "closed"},
		"java":    {"java", "Client.java", streamed, 2, "closed"},
	}
}

// run runs the client for a portal in a new directory. It must end within some minutes.
func (e example) run(t *testing.T, url string, env ...string) (code int, text, notes string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("..", "spec", "examples", e.file))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 3*soon)
	defer cancel()
	c := exec.CommandContext(ctx, e.interpreter, file, url)
	c.Dir, c.Env, c.WaitDelay = t.TempDir(), append(portaltest.Environ(t.TempDir()), env...), time.Second
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs
	_ = c.Run() // the exit code is checked instead
	require.NoError(t, ctx.Err(), "the client did not end: %s%s", out.String(), errs.String())
	return c.ProcessState.ExitCode(), out.String(), errs.String()
}

// requireProgram skips the test without the program, unless all tests need it.
func requireProgram(t *testing.T, program string) {
	t.Helper()
	_, err := exec.LookPath(program)
	if err != nil && (program == "python3" || program == "java") {
		t.Skipf("%s is not installed", program)
	}
	require.NoError(t, err)
}

// identifiers are those of sessions, and cursors.
var identifiers = regexp.MustCompile(`[0-9a-f]+(-[0-9a-f]+)+`)

func TestExampleClientsPrintTheTextOnceOverADroppedConnection(t *testing.T) {
	t.Parallel()
	const token = "sesame"
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--token", token, "--base-path", "/portal"}})
	for program, e := range examples() {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			requireProgram(t, program)
			code, text, notes := e.run(t, p.URL+"/portal", "PORTAL_TOKEN="+token)
			assert.Equal(t, 0, code, notes)
			assert.Equal(t, "Here are the files of this directory:\ndone\n", text)
			lines := strings.Split(strings.TrimSpace(identifiers.ReplaceAllString(notes, "ID")), "\n")
			assert.ElementsMatch(t, e.notes, lines, notes)

			id := identifiers.FindString(notes)
			assert.Equal(t, e.state, listedState(t, p, token, id))
			opened := func() int { return strings.Count(p.Stderr(), "path=/portal/stream/"+id+" ") }
			require.Eventually(t, func() bool { return opened() >= e.streams }, soon, tick, "the log is written concurrently")
			assert.Equal(t, e.streams, opened())
		})
	}
}

// listedState returns the state of a session, or "" if it is not listed.
func listedState(t *testing.T, p *portaltest.Portal, token, id string) string {
	t.Helper()
	status, answer := p.Do("GET", "/portal/api/copilot/session", "", "Authorization", "Bearer "+token)
	require.Equal(t, 200, status)
	var list struct {
		Sessions []struct{ SessionID, State string }
	}
	require.NoError(t, json.Unmarshal([]byte(answer), &list))
	for _, s := range list.Sessions {
		if s.SessionID == id {
			return s.State
		}
	}
	return ""
}

func TestExampleClientsExplainThatNoPortalListens(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	connection, err := net.Dial("tcp", listener.Addr().String())
	require.NoError(t, err)
	t.Cleanup(func() { _ = connection.Close() })
	url := "http://" + connection.LocalAddr().String() // nobody can listen there as long as it is connected
	for program, e := range examples() {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			requireProgram(t, program)
			code, text, notes := e.run(t, url)
			assert.Equal(t, 1, code)
			assert.Empty(t, text)
			assert.Contains(t, notes, "No portal answers at "+url)
			assert.Contains(t, notes, "Start one: make run ARGS=--demo")
			assert.Len(t, strings.Split(strings.TrimSpace(notes), "\n"), 1, notes)
		})
	}
}

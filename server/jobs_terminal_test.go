package server_test

import (
	"bytes"
	"context"
	"io"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// terminal is a command in a terminal of 50 columns, which script(1) provides.
type terminal struct {
	*testing.T
	keys io.WriteCloser
	run  *exec.Cmd

	mu  sync.Mutex
	out bytes.Buffer
}

func (t *terminal) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.Write(b)
}

// shown returns everything written so far.
func (t *terminal) shown() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.out.String()
}

// inTerminal starts `portal jobs run`.
func inTerminal(t *testing.T, home, dir, args string, env ...string) *terminal {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	w := &terminal{T: t}
	w.run = exec.CommandContext(ctx, "script", "-qefc", "stty cols 50 rows 12; exec "+portaltest.Binary(t)+" jobs run "+args, "/dev/null")
	w.run.Env, w.run.Dir, w.run.Stdout = append(append(portaltest.Environ(home), "TERM=xterm"), env...), dir, w
	var err error
	w.keys, err = w.run.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, w.run.Start())
	return w
}

// end waits for the command and returns its exit code.
func (t *terminal) end() int {
	t.Helper()
	_ = t.run.Wait() // the exit code is checked instead
	return t.run.ProcessState.ExitCode()
}

var sequences = regexp.MustCompile("\x1b\\[[0-9]*[A-Za-z]")

// lines returns the written lines without escape sequences.
func (t *terminal) lines() []string {
	return strings.Split(strings.ReplaceAll(sequences.ReplaceAllString(t.shown(), ""), "\r", ""), "\n")
}

func TestJobIsRedrawnInATerminal(t *testing.T) {
	t.Parallel()
	home, dir := t.TempDir(), repository(t)
	own := ownBook(t, `
models: {driving: ""}
tasks:
  a-task-whose-name-is-much-too-long-for-the-terminal-that-it-is-shown-in: {prompt: [say something]}
  wait: {prompt: ["run `+"`sleep 60`"+`"]}
jobs:
  short: {work: {kind: Ref, taskId: a-task-whose-name-is-much-too-long-for-the-terminal-that-it-is-shown-in}}
  slow: {work: {kind: Ref, taskId: wait}}
`)
	short := inTerminal(t, home, dir, "short --jobs "+own)
	assert.Equal(t, 0, short.end(), short.shown())
	assert.Contains(t, short.shown(), "\x1b[2A\r\x1b[J", "two lines are redrawn")
	assert.Contains(t, short.shown(), "\x1b[32m✓\x1b[0m a-task-whose")
	assert.Contains(t, short.shown(), "1/1  short")
	assert.Contains(t, short.shown(), "short succeeded after")
	for _, line := range short.lines() {
		if !strings.HasPrefix(line, "short succeeded") {
			assert.Less(t, len([]rune(line)), 50, line)
		}
	}

	slow := inTerminal(t, home, dir, "slow --jobs "+own, "NO_COLOR=1")
	require.Eventually(t, func() bool { return strings.Contains(slow.shown(), "▸ wait  session") }, time.Minute, tick)
	_, err := slow.keys.Write([]byte("\x03"))
	require.NoError(t, err)
	assert.Equal(t, 130, slow.end(), slow.shown())
	assert.Contains(t, slow.shown(), "Cancelling the job")
	assert.Contains(t, slow.shown(), "– wait")
	assert.Regexp(t, `portal jobs continue [0-9a-f]{8} continues it`, slow.shown())
	assert.NotRegexp(t, "\x1b\\[[0-9;]*m", slow.shown(), "no colours")
}

func TestJobOfAnotherPortalIsCancelledFromTheCommandLine(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--jobs", ownBook(t, parallel)}})
	job := startJob(t, p, "both", t.TempDir())
	jobUntil(t, p, job, "workStarted")
	id := strings.TrimPrefix(job, "copilot/job/")
	as := exec.Cmd{Env: portaltest.Environ(p.Home)}
	var stderr string
	require.Eventually(t, func() bool { // until the job is stored
		var code int
		code, _, stderr = runCommand(t, soon, as, []string{"jobs", "cancel", id[:8]})
		return code == 0
	}, soon, 200*time.Millisecond, "%s", stderr)
	assert.Contains(t, stderr, id+" is cancelled.")
	jobUntil(t, p, job, "jobCanceled")

	code, _, stderr := runCommand(t, soon, as, []string{"jobs", "cancel", id})
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "ended already")
}

package server_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestHangingCLIIsReplaced(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Env: []string{"PORTAL_POOL_PING_EVERY=1s", "PORTAL_POOL_SILENCE_LIMIT=8s"}})
	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `the first`")
	old := p.Agents()
	require.Len(t, old, 1)
	p.Query(id, "wait 600 s")
	p.Until(id, "onAgentStart")
	halted := time.Now()
	require.NoError(t, syscall.Kill(old[0].PID, syscall.SIGSTOP))
	assert.Contains(t, names(p.Until(id, "onIdle")), "sessionError")
	t.Logf("halt → end of the run: %v", time.Since(halted))
	assert.Contains(t, portaltest.Answer(p.Run(id, "recall")), "the first")
	t.Logf("halt → next answer: %v", time.Since(halted))
	now := p.Agents()
	require.Len(t, now, 1)
	assert.NotEqual(t, old[0].PID, now[0].PID)
	assert.Contains(t, p.Stderr(), "does not answer and will be killed")
}

func TestSessionAndRunLimitsHold(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Config: "limits: {sessions: 2, runs: 1}"})
	first, second := p.StartSession(t.TempDir(), ""), p.StartSession(t.TempDir(), "")
	status, answer := p.Do(http.MethodPost, "/api/copilot/session/start/demo", t.TempDir())
	assert.Equal(t, http.StatusConflict, status)
	assert.JSONEq(t, `{"error":"2 sessions are open already; close one, or allow more with limits.sessions"}`, answer)

	p.Query(first, "wait 600 s")
	p.Until(first, "onAgentStart")
	p.Query(second, "say `at last`")
	require.Eventually(t, func() bool { return state(p, second) == "queued" }, soon, tick)
	p.API(http.MethodPost, "copilot/session/"+first+"/cancel", "")
	assert.Equal(t, "at last", portaltest.Answer(p.Until(second, "onIdle")))
}

func TestNextPortalEndsOrphans(t *testing.T) {
	t.Parallel()
	killed, living := portaltest.Start(t, portaltest.Options{}), portaltest.Start(t, portaltest.Options{})
	killed.StartSession(t.TempDir(), "")
	id := living.StartSession(t.TempDir(), "")
	// The kernel signals the CLI itself, so a process that ignores the signal represents a
	// hanging CLI.
	left := exec.Command("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done")
	left.Env = marks(t, killed.Agents()[0].PID)
	out, err := left.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, left.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, out)
		_ = left.Wait()
	}()
	killed.Kill()

	portaltest.Start(t, portaltest.Options{}).StartSession(t.TempDir(), "")
	select {
	case <-ended:
	case <-time.After(soon):
		_ = left.Process.Kill()
		assert.Fail(t, "it was left running")
	}
	assert.Equal(t, "well", portaltest.Answer(living.Run(id, "say `well`")), "a portal that lives keeps what it has")
}

// marks returns the variables that mark a portal's processes.
func marks(t *testing.T, pid int) []string {
	t.Helper()
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	require.NoError(t, err)
	list := []string{"PATH=" + os.Getenv("PATH")}
	for entry := range strings.SplitSeq(string(env), "\x00") {
		if strings.HasPrefix(entry, "COPILOT_PORTAL_AGENT=") || strings.HasPrefix(entry, "COPILOT_PORTAL_OWNER=") {
			list = append(list, entry)
		}
	}
	require.Len(t, list, 3)
	return list
}

func TestAgentIsKeptWarmIfConfigured(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{Config: "pool: {warm: always, linger: 0s}\n"})
	running := func() bool { return len(p.Agents()) == 1 }
	require.Eventually(t, running, soon, tick, "it starts without a session")
	warm := p.Agents()[0].PID
	id := p.StartSession(t.TempDir(), "")
	assert.Equal(t, "well", portaltest.Answer(p.Run(id, "say `well`")))
	p.API("POST", "copilot/session/"+id+"/stop", "")
	assert.Equal(t, warm, p.Agents()[0].PID, "sessions use it, and it outlives them")
}

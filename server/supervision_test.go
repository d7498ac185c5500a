package server_test

import (
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestACLIThatHangsIsReplacedAndTheSessionGoesOn(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{Config: "pool: {ping_every: 200ms, silence_limit: 1s}"})
	id := p.StartSession(t.TempDir(), "")
	p.Run(id, "say `the first`")
	old := p.Agents()
	require.Len(t, old, 1)
	p.Query(id, "wait 60 s")
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
	assert.Contains(t, p.Stderr(), "does not answer and is ended by force")
}

func TestLimitsOfSessionsAndRunsAreKept(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{Config: "limits: {sessions: 2, runs: 1}"})
	first, second := p.StartSession(t.TempDir(), ""), p.StartSession(t.TempDir(), "")
	status, answer := p.Do(http.MethodPost, "/api/copilot/session/start/demo", t.TempDir())
	assert.Equal(t, http.StatusConflict, status)
	assert.JSONEq(t, `{"error":"2 sessions are open already; close one, or allow more with limits.sessions"}`, answer)

	state := func(id string) any {
		for _, entry := range p.API(http.MethodGet, "copilot/session", "")["sessions"].([]any) {
			if s := entry.(map[string]any); s["sessionId"] == id {
				return s["state"]
			}
		}
		return nil
	}
	p.Query(first, "wait 60 s")
	p.Until(first, "onAgentStart")
	p.Query(second, "say `at last`")
	require.Eventually(t, func() bool { return state(second) == "queued" }, 5*time.Second, 10*time.Millisecond)
	p.API(http.MethodPost, "copilot/session/"+first+"/cancel", "")
	assert.Equal(t, "at last", portaltest.Answer(p.Until(second, "onIdle")))
}

func TestWhatAKilledPortalLeftIsEndedByTheNext(t *testing.T) {
	killed, living := portaltest.Start(t, portaltest.Options{}), portaltest.Start(t, portaltest.Options{})
	killed.StartSession(t.TempDir(), "")
	id := living.StartSession(t.TempDir(), "")
	left := killed.Agents()
	require.Len(t, left, 1)
	require.NoError(t, syscall.Kill(left[0].PID, syscall.SIGSTOP)) // the kernel's signal to end does not reach it
	killed.Kill()
	require.Len(t, killed.Agents(), 1)

	next := portaltest.Start(t, portaltest.Options{})
	next.StartSession(t.TempDir(), "")
	require.Eventually(t, func() bool { return len(killed.Agents()) == 0 }, 5*time.Second, 10*time.Millisecond)
	assert.Contains(t, next.Stderr(), "had left running")
	assert.Equal(t, "well", portaltest.Answer(living.Run(id, "say `well`")), "a portal that lives keeps what it has")
}

package server_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestFiftySessionsStopFastAndContinue(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	dir, ids := t.TempDir(), make([]string, 50)
	forEach(ids, func(i int) { ids[i] = p.StartSession(dir, "") })
	closed, idle, busy := ids[0], ids[1], ids[40:]
	p.Run(closed, "say `the closed heron`")
	p.Run(idle, "say `the open heron`")
	assert.Equal(t, portaltest.Response{"result": "Closed"}, p.API("POST", "copilot/session/"+closed+"/stop", ""))
	for _, id := range busy {
		p.Query(id, endless)
	}
	for _, id := range busy {
		p.Until(id, "onMessage")
	}

	begin := time.Now()
	p.Stop() // checks that it takes less than 5 s
	t.Logf("stopped after %v", time.Since(begin))
	assertSound(t, p.DataDir())

	p = p.Restart()
	states := map[string]int{}
	for _, id := range ids {
		states[state(p, id)]++
	}
	assert.Equal(t, map[string]int{"idle": 49, "closed": 1}, states)
	assert.Contains(t, portaltest.Answer(goOn(t, p, idle, "recall")), "the open heron")
	assert.Equal(t, []string{"interrupted"}, outcomes(t, lines(t, p, busy[0])))
	assert.Contains(t, portaltest.Answer(goOn(t, p, busy[0], "recall")), endless)
	assert.Equal(t, "well", portaltest.Answer(goOn(t, p, ids[2], "say `well`")), "a session without prompts")
	assertStaysClosed(t, p, closed)
}

func assertStaysClosed(t *testing.T, p *portaltest.Portal, id string) {
	t.Helper()
	assert.Contains(t, strings.Join(lines(t, p, id), "\n"), "the closed heron", "its past is readable")
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.API("POST", "copilot/session/"+id+"/query", "recall"))
	assert.Empty(t, p.API("POST", "copilot/session/"+id+"/resume", ""))
	assert.Contains(t, portaltest.Answer(goOn(t, p, id, "recall")), "the closed heron")
}

func TestLostAgentHistoryIsReported(t *testing.T) {
	t.Parallel()
	damages := map[string]func(save string) error{
		"damaged": func(save string) error {
			path := filepath.Join(save, "events.jsonl")
			b, err := os.ReadFile(path)
			return errors.Join(err, os.WriteFile(path, overwrite(b, 0, len(b)), 0o600))
		},
		"gone": os.RemoveAll,
	}
	p, ids := portaltest.Start(t, portaltest.Options{}), map[string]string{}
	for name := range damages {
		ids[name] = p.StartSession(t.TempDir(), "")
		p.Run(ids[name], "say `the forgotten heron`")
	}
	p.Stop()
	for name, damage := range damages {
		save := filepath.Join(p.Home, "session-state", ids[name])
		require.DirExists(t, save)
		require.NoError(t, damage(save))
	}

	p = p.Restart()
	for name, id := range ids {
		t.Run(name, func(t *testing.T) {
			p := p.For(t)
			assert.Contains(t, strings.Join(lines(t, p, id), "\n"), "the forgotten heron")
			got := goOn(t, p, id, "recall, then say `well`")
			assert.Contains(t, names(got), "sessionError")
			assert.NotContains(t, portaltest.Answer(got), "heron", "otherwise nothing was lost")
			assert.Contains(t, portaltest.Answer(got), "well")
			assert.NotContains(t, names(goOn(t, p, id, "say `again`")), "sessionError", "it is reported once")
		})
	}
}

func TestUnusedSessionCanBeClosedAfterARestart(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := assertWorks(t, p)
	p.Stop()
	p = p.Restart()
	require.Equal(t, "idle", state(p, id))
	assert.Equal(t, portaltest.Response{"result": "Closed"}, p.API("POST", "copilot/session/"+id+"/stop", ""))
	assert.Equal(t, "closed", state(p, id))
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.API("POST", "copilot/session/"+id+"/query", "x"))
	p.Stop()
	p = p.Restart()
	assert.Equal(t, "closed", state(p, id))
	assert.Empty(t, p.API("POST", "copilot/session/"+id+"/resume", ""))
	assert.Equal(t, "idle", state(p, id))
}

package server_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestManySessionsInParallelLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps two cores busy for a while")
	}
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--debug=false"}, Config: "pool: {size: 4}"})
	dir, ids := t.TempDir(), make([]string, portaltest.Repeat(20, 200))
	begin := time.Now()
	forEach(ids, func(i int) { ids[i] = p.StartSession(dir, "") })
	opened := time.Since(begin)
	forEach(ids, func(i int) {
		want := strings.Repeat(fmt.Sprintf("%d ", i), 20) + "of " + ids[i]
		p.Query(ids[i], "say `"+want+"`")
		got := follow(t, p, ids[i])
		assert.Equal(t, want, portaltest.Answer(got))
		assertDeltasAddUp(t, got)
	})
	t.Logf("%d sessions: opened after %.1f s, answered after %.1f s", len(ids), opened.Seconds(), time.Since(begin).Seconds())
	forEach(ids, func(i int) { assertOneRun(t, p, ids[i]) })

	portal := peak(t, p.PID)
	t.Logf("peak memory of the portal: %.0f MB", portal)
	assert.Less(t, portal, 150.0)
	agents := p.Agents()
	require.NotEmpty(t, agents)
	for _, a := range agents {
		cli := peak(t, a.PID)
		t.Logf("peak memory of a Copilot CLI: %.0f MB", cli)
		assert.Less(t, cli, 3000.0)
	}
}

// forEach calls do for all sessions concurrently.
func forEach(ids []string, do func(i int)) {
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { do(i) })
	}
	all.Wait()
}

// batch returns the responses of one call of live/{token}.
func batch(p *portaltest.Portal, id, token string) (list []portaltest.Response) {
	responses, _ := p.API("GET", "copilot/session/"+id+"/live/"+token, "")["responses"].([]any)
	for _, r := range responses {
		if fields, ok := r.(map[string]any); ok {
			list = append(list, fields)
		}
	}
	return list
}

// follow reads a session with live/{token} up to its first onIdle.
func follow(t *testing.T, p *portaltest.Portal, id string) (all []portaltest.Response) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); {
		more := batch(p, id, "reader")
		all = append(all, more...)
		if slices.Contains(names(more), "onIdle") {
			return all
		}
	}
	t.Errorf("no onIdle but %v", all)
	return all
}

// assertOneRun checks that a session's past has one prompt, one answer and one end.
func assertOneRun(t *testing.T, p *portaltest.Portal, id string) {
	t.Helper()
	past := batch(p, id, "afterwards")
	for _, name := range []string{"onUserMessage", "onStartMessage", "onEndMessage", "onIdle"} {
		n := 0
		for _, r := range past {
			if r.Name() == name {
				n++
			}
		}
		assert.Equal(t, 1, n, "%s among %v", name, past)
	}
}

// peak returns the peak memory of a process, in MB.
func peak(t *testing.T, pid int) float64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(t, err)
	m := regexp.MustCompile(`VmHWM:\s+(\d+) kB`).FindSubmatch(status)
	require.NotNil(t, m, "%s", status)
	kb, err := strconv.ParseFloat(string(m[1]), 64)
	require.NoError(t, err)
	return kb * 1024 / 1e6
}

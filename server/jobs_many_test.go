package server_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// wideBook returns the path of a book with a job that runs abreast sessions in parallel in each round.
func wideBook(t *testing.T, rounds, abreast int) string {
	t.Helper()
	var refs strings.Builder
	for range abreast {
		refs.WriteString("\n          - {kind: Ref, taskId: note}")
	}
	text := fmt.Sprintf("models: {driving: demo}\n"+
		"tasks:\n"+
		"  note:\n"+
		"    prompt: ['say `one two three four five six seven eight` and call `job_prepare_document` `{\"argument\": \"note.md\"}`']\n"+
		"    criteria: {toolExecuted: [job_prepare_document], failureAction: {retryTimes: 0}}\n"+
		"jobs:\n"+
		"  wide:\n"+
		"    work:\n"+
		"      kind: Loop\n"+
		"      maxIterations: %d\n"+
		"      body:\n"+
		"        kind: Par\n"+
		"        works:%s\n", rounds, refs.String())
	path := filepath.Join(t.TempDir(), "wide.yaml")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestLargeJobIsReportedToAllWatchers(t *testing.T) {
	rounds, abreast := portaltest.Repeat(2, 20), portaltest.Repeat(10, 30)
	sessions := rounds * abreast
	p := portaltest.Start(t, portaltest.Options{
		Args:   []string{"--debug=false", "--jobs", wideBook(t, rounds, abreast)},
		Config: fmt.Sprintf("pool: {size: 2, sessions_per_process: %d, linger: 1h}", abreast/2),
	})
	begin := time.Now()
	id := p.API("POST", "copilot/job/start/wide", t.TempDir()).Text("jobId")
	require.NotEmpty(t, id)

	watchers := make([][]portaltest.Response, 4)
	var all sync.WaitGroup
	for i := range watchers {
		all.Go(func() { watchers[i] = watchJob(t, p, id, fmt.Sprint("watcher-", i)) })
	}
	all.Wait()
	t.Logf("%d sessions, %d at the same time: %.1f s", sessions, abreast, time.Since(begin).Seconds())

	want := map[string]int{"workStarted": sessions, "workStopped": sessions, "jobSucceeded": 1}
	for i, responses := range watchers {
		assert.Equal(t, want, tally(responses), "watcher %d", i)
		assert.Equal(t, watchers[0], responses, "watcher %d received something else", i)
	}
	status := p.API("GET", "copilot/job/"+id+"/status", "")
	assert.Equal(t, "Succeeded", status.Text("status"))
	assert.Len(t, status["tasks"], abreast)

	t.Logf("peak memory of the portal: %.0f MB", peak(t, p.PID))
	assert.Less(t, peak(t, p.PID), 200.0)
	agents := p.Agents()
	assert.Len(t, agents, 2)
	for _, a := range agents {
		t.Logf("peak memory of a Copilot CLI: %.0f MB", peak(t, a.PID))
		assert.Less(t, peak(t, a.PID), 3000.0)
	}
}

// watchJob reads a job with live/{token} up to its end.
func watchJob(t *testing.T, p *portaltest.Portal, id, token string) (received []portaltest.Response) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Minute); time.Now().Before(deadline); {
		answer := p.API("GET", "copilot/job/"+id+"/live/"+token, "")
		switch answer.Text("error") {
		case "JobClosed":
			return received
		case "", "HttpRequestTimeout":
		default:
			t.Errorf("while watching: %v", answer)
			return received
		}
		responses, _ := answer["responses"].([]any)
		for _, r := range responses {
			fields, _ := r.(map[string]any)
			received = append(received, fields)
		}
	}
	t.Errorf("the job did not end: %d responses", len(received))
	return received
}

// tally counts responses by callback.
func tally(responses []portaltest.Response) map[string]int {
	n := map[string]int{}
	for _, r := range responses {
		n[r.Name()]++
	}
	return n
}

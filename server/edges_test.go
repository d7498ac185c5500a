package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestASessionIsClosedThatWasNotUsedSinceTheStart(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	id := assertWorks(t, p)
	p.Stop()
	p = p.Again()
	require.Equal(t, "idle", state(p, id))
	assert.Equal(t, portaltest.Response{"result": "Closed"}, p.API("POST", "copilot/session/"+id+"/stop", ""))
	assert.Equal(t, "closed", state(p, id))
	assert.Equal(t, portaltest.Response{"error": "SessionNotFound"}, p.API("POST", "copilot/session/"+id+"/query", "x"))
	p.Stop()
	p = p.Again()
	assert.Equal(t, "closed", state(p, id))
	assert.Empty(t, p.API("POST", "copilot/session/"+id+"/resume", ""))
	assert.Equal(t, "idle", state(p, id))
}

func TestASessionOfAnotherPortalIsChangedOnlyThere(t *testing.T) {
	a := portaltest.Start(t, portaltest.Options{})
	c := portaltest.Start(t, portaltest.Options{Home: a.Home})
	id := c.StartSession(t.TempDir(), "permissions=ask")
	c.Query(id, "run `pwd`")
	asked := find(t, c.Until(id, "onPermissionRequest"), "onPermissionRequest").Text("requestId")
	a.Follow(id, "far").Wait("the question", func(list []portaltest.Response) bool { return count(list, "onPermissionRequest") == 1 })
	for path, body := range map[string]string{
		"/query": "say `mine`", "/cancel": "", "/stop": "", "/resume": "", "/answer/" + asked: `{"approved":true}`,
	} {
		status, answer := a.Do(http.MethodPost, "/api/copilot/session/"+id+path, body)
		assert.Equal(t, http.StatusConflict, status, path)
		assert.Contains(t, answer, fmt.Sprintf("in use by process %d", c.PID), path)
	}
	assert.Equal(t, "waiting", state(c, id))
	assert.Empty(t, c.API("POST", "copilot/session/"+id+"/answer/"+asked, `{"approved":true}`))
	assert.Equal(t, []string{"onQuestionAnswered"}, names(c.Until(id, "onQuestionAnswered")))
	c.Until(id, "onIdle")
}

func TestWhatAKilledPortalWasAtIsPutInOrderByOneThatRuns(t *testing.T) {
	a := portaltest.Start(t, portaltest.Options{})
	killed := portaltest.Start(t, portaltest.Options{Home: a.Home})
	cut, asking := killed.StartSession(t.TempDir(), ""), killed.StartSession(t.TempDir(), "permissions=ask")
	killed.Query(cut, "20,000 tokens in 20 s")
	killed.Query(asking, "run `pwd`")
	asked := find(t, killed.Until(asking, "onPermissionRequest"), "onPermissionRequest").Text("requestId")
	reader := a.Follow(cut, "far")
	reader.Wait("the answer", func(list []portaltest.Response) bool { return count(list, "onMessage") > 0 })
	settle()
	killed.Kill()
	at := time.Now()
	reader.Wait("the end of the run", func(list []portaltest.Response) bool { return count(list, "onIdle") == 1 })
	t.Logf("put in order after %v", time.Since(at))
	assert.Equal(t, []string{"interrupted"}, outcomes(t, lines(t, a, cut)))
	require.Eventually(t, func() bool { return state(a, asking) == "waiting" }, soon, tick)
	assert.Empty(t, a.API("POST", "copilot/session/"+asking+"/answer/"+asked, `{"approved":true}`))
	a.Until(asking, "onIdle")
	assert.Equal(t, []string{"completed"}, outcomes(t, lines(t, a, asking)))
}

func TestASessionWhosePastIsDamagedSaysSo(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	id, sound := assertWorks(t, p), assertWorks(t, p)
	p.Stop()
	_, err := database(t, p.DataDir()).ExecContext(t.Context(),
		"UPDATE segment SET data = zeroblob(length(data)) WHERE session = (SELECT key FROM session WHERE id = ?)", id)
	require.NoError(t, err)
	p = p.Again()
	for _, path := range []string{"/live", "/live/token", "/export?format=jsonl", "/export"} {
		status, answer := p.Do("GET", "/api/copilot/session/"+id+path, "")
		assert.Equal(t, http.StatusServiceUnavailable, status, path)
		assert.Contains(t, answer, `{"error":"what is stored of the session cannot be read`, path)
	}
	status, answer := query(p, id, "recall")
	assert.Equal(t, http.StatusServiceUnavailable, status)
	assert.Contains(t, answer, "cannot be read")
	assert.Zero(t, owner(p, id))
	assert.Contains(t, portaltest.Answer(goOn(t, p, sound, "recall")), "well")
}

func TestAPortalGoesOnWhenItsDataDirectoryIsRemoved(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	id := assertWorks(t, p)
	settle()
	require.NoError(t, os.RemoveAll(p.DataDir()))
	assert.Equal(t, "the second", portaltest.Answer(p.Run(id, "say `the second`")))
	other := assertWorks(t, p)
	require.Eventually(t, func() bool { return storageOf(t, p).State == "replaced" }, soon, tick)
	p.Stop()
	require.FileExists(t, filepath.Join(p.DataDir(), "sessions.db"))
	p = p.Again()
	assert.Equal(t, "idle", state(p, other))
	assert.Contains(t, strings.Join(lines(t, p, id), "\n"), "the second")
	status, answer := query(p, id, "recall")
	assert.Equal(t, 200, status, answer)
}

func TestSessionsBeyondTheLimitWaitForTheirAnswersAllTheSame(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	var ids, asked []string
	for range 3 {
		id := p.StartSession(t.TempDir(), "permissions=ask")
		p.Query(id, "run `pwd`")
		ids, asked = append(ids, id), append(asked, find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest").Text("requestId"))
	}
	settle()
	p.Kill()
	p = portaltest.Start(t, portaltest.Options{Home: p.Home, Config: "limits: {sessions: 1}"})
	require.Eventually(t, func() bool { return slices.Contains(states(p, ids), "waiting") }, soon, tick)
	others := portaltest.Start(t, portaltest.Options{Home: p.Home})
	for i, id := range ids {
		if state(p, id) == "waiting" {
			continue
		}
		assert.Empty(t, others.API("POST", "copilot/session/"+id+"/answer/"+asked[i], `{"approved":true}`), "nobody holds it without using it")
		assert.Equal(t, "rest", answeredBy(others.Until(id, "onIdle"), asked[i]))
		assert.Equal(t, []string{"completed"}, outcomes(t, lines(t, others, id)))
	}
}

func states(p *portaltest.Portal, ids []string) (list []string) {
	for _, id := range ids {
		list = append(list, state(p, id))
	}
	return list
}

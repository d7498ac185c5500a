package server_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestSessionIsUsedFromEveryPortal(t *testing.T) {
	t.Parallel()
	a := portaltest.Start(t, portaltest.Options{})
	c := portaltest.Start(t, portaltest.Options{Home: a.Home})
	id := c.StartSession(t.TempDir(), "permissions=ask")
	c.Query(id, "run `pwd`")
	asked := find(t, c.Until(id, "onPermissionRequest"), "onPermissionRequest").Text("requestId")
	a.Follow(id, "far").Wait("the question", func(list []portaltest.Response) bool { return count(list, "onPermissionRequest") == 1 })
	require.Eventually(t, func() bool { return state(a, id) == "waiting" }, soon, tick)
	assert.Equal(t, c.PID, owner(a, id))
	a.Query(id, "say `mine`")
	assert.Empty(t, a.API("POST", "copilot/session/"+id+"/answer/"+asked, `{"approved":true}`))
	second := c.API("POST", "copilot/session/"+id+"/answer/"+asked, `{"approved":true}`)
	assert.Equal(t, "AlreadyAnswered", second["error"], "the first answer wins")
	both := func(list []portaltest.Response) bool { return count(list, "onIdle") == 2 }
	far := a.Follow(id, "all").Wait("both runs", both)
	assert.Contains(t, portaltest.Answer(far), "mine")
	assert.Equal(t, "Closed", a.API("POST", "copilot/session/"+id+"/stop", "")["result"])
	assert.Equal(t, "closed", state(c, id))
	assert.Empty(t, a.API("POST", "copilot/session/"+id+"/resume", ""))
	assert.Empty(t, a.API("DELETE", "copilot/session/"+id, ""))
	assert.Empty(t, state(c, id))
}

func TestJobsAndOperationsAreStoppedFromEveryPortal(t *testing.T) {
	t.Parallel()
	a := portaltest.Start(t, portaltest.Options{})
	c := portaltest.Start(t, portaltest.Options{Home: a.Home})
	job := startJob(t, c, "refine", t.TempDir()+"\nrun `sleep 30`")
	jobUntil(t, c, job, "workStarted")
	assert.Equal(t, "Closed", a.API("POST", job+"/stop", "")["result"])
	jobUntil(t, c, job, "jobCanceled")
	assert.Equal(t, "JobClosed", a.API("POST", job+"/stop", "")["error"])

	near, far := visit(t, c, "{}"), visit(t, a, "{}")
	operation := operate(t, c, near, `{"type": "prompt", "prompt": "20,000 tokens in 1,000 s"}`)
	status, answer := a.Do("POST", "/operations/"+operation+"/cancel", "", "X-Session-ID", far)
	assert.Equal(t, http.StatusOK, status, answer)
	require.Eventually(t, func() bool { return statusOf(t, a, far, operation) == "cancelled" }, soon, tick)
	assert.Equal(t, "cancelled", statusOf(t, c, near, operation))
}

func TestRunningPortalRecoversKilledPortalsSessions(t *testing.T) {
	t.Parallel()
	a := portaltest.Start(t, portaltest.Options{})
	killed := portaltest.Start(t, portaltest.Options{Home: a.Home})
	cut, asking := killed.StartSession(t.TempDir(), ""), killed.StartSession(t.TempDir(), "permissions=ask")
	killed.Query(cut, "2,000 tokens in 200 s")
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

func TestRecoveredQuestionsIgnoreTheSessionLimit(t *testing.T) {
	t.Parallel()
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
		assert.Empty(t, others.API("POST", "copilot/session/"+id+"/answer/"+asked[i], `{"approved":true}`), "no portal holds an unused session")
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

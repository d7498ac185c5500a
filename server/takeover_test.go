package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestSessionIsChangedOnlyByItsHolder(t *testing.T) {
	t.Parallel()
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

func TestRunningPortalRecoversKilledPortalsSessions(t *testing.T) {
	t.Parallel()
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

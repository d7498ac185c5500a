package server_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestAPermissionThatWasAskedBeforeAKillIsAnsweredAfterIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer string
		ran    bool
	}{
		"yes": {`{"approved":true}`, true},
		"no":  {`{"approved":false,"reason":"not today"}`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, dir := portaltest.Start(t, portaltest.Options{}), t.TempDir()
			id := p.StartSession(dir, "permissions=ask")
			p.Query(id, "run `echo carried out > witness; cat witness`")
			asked := find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest").Text("requestId")

			settle()
			p.Kill()
			p = p.Again()
			require.Eventually(t, func() bool { return state(p, id) == "waiting" }, soon, tick)
			require.NoFileExists(t, filepath.Join(dir, "witness"))
			assert.Empty(t, p.API("POST", "copilot/session/"+id+"/answer/"+asked, c.answer))
			got := p.Until(id, "onIdle")

			assert.Equal(t, []string{"completed"}, outcomes(t, lines(t, p, id)), "%v", got)
			assert.Equal(t, "rest", answeredBy(got, asked))
			assert.Equal(t, portaltest.Response{"error": "AlreadyAnswered"}, p.API("POST", "copilot/session/"+id+"/answer/"+asked, c.answer))
			if c.ran {
				assert.FileExists(t, filepath.Join(dir, "witness"))
				assert.Contains(t, portaltest.Answer(got), "carried out")
			} else {
				assert.NoFileExists(t, filepath.Join(dir, "witness"))
				assert.Contains(t, portaltest.Answer(got), "not today")
			}
			assert.Contains(t, portaltest.Answer(goOn(t, p, id, "recall")), "carried out > witness")
		})
	}
}

// answeredBy says who answered a question, or how it ended else.
func answeredBy(list []portaltest.Response, request string) (by string) {
	for _, r := range list {
		if r.Name() == "onQuestionAnswered" && r.Text("requestId") == request {
			by += r.Text("by")
		}
	}
	return by
}

func TestAPermissionStaysAskedOverSeveralKills(t *testing.T) {
	t.Parallel()
	p, dir := portaltest.Start(t, portaltest.Options{}), t.TempDir()
	id := p.StartSession(dir, "permissions=ask")
	p.Query(id, "run `touch witness`")
	asked := find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest").Text("requestId")
	for range 3 {
		settle()
		p.Kill()
		p = p.Again()
		require.Eventually(t, func() bool { return state(p, id) == "waiting" }, soon, tick)
	}
	assert.Empty(t, p.API("POST", "copilot/session/"+id+"/answer/"+asked, `{"approved":true}`))
	assert.Equal(t, "rest", answeredBy(p.Until(id, "onIdle"), asked))
	assert.FileExists(t, filepath.Join(dir, "witness"))
	assert.Equal(t, []string{"completed"}, outcomes(t, lines(t, p, id)))
}

func TestAQuestionOfTheAgentDoesNotOutliveAKill(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "permissions=allow&interactive=true")
	p.Query(id, "ask `Which heron?` choices `grey` `purple`")
	asked := find(t, p.Until(id, "onUserInputRequest"), "onUserInputRequest").Text("requestId")

	settle()
	p.Kill()
	p = p.Again()
	got := p.Until(id, "onIdle")
	assert.Equal(t, "expired", answeredBy(got, asked))
	assert.Equal(t, []string{"interrupted"}, outcomes(t, lines(t, p, id)))
	assert.Equal(t, "idle", state(p, id))
	assert.Equal(t, portaltest.Response{"error": "AlreadyAnswered"}, p.API("POST", "copilot/session/"+id+"/answer/"+asked, `{"answer":"grey"}`))
	assert.Contains(t, portaltest.Answer(goOn(t, p, id, "recall")), "Which heron?")
}

func TestPromptsThatWaitedAtAKillAreToldAndNotRun(t *testing.T) {
	t.Parallel()
	p, dir := portaltest.Start(t, portaltest.Options{}), t.TempDir()
	id := p.StartSession(dir, "")
	p.Query(id, "wait 60 s")
	p.Until(id, "onAgentStart")
	p.Query(id, "run `touch witness`")
	require.Eventually(t, func() bool { return kept(t, p, "touch witness") }, soon, tick)

	settle()
	p.Kill()
	p = p.Again()
	require.Eventually(t, func() bool { return len(outcomes(t, lines(t, p, id))) == 2 }, soon, tick)
	assert.Equal(t, []string{"interrupted", "interrupted"}, outcomes(t, lines(t, p, id)))
	assert.Contains(t, strings.Join(lines(t, p, id), "\n"), "touch witness")
	assert.Equal(t, "well", portaltest.Answer(goOn(t, p, id, "say `well`")))
	_, err := os.Stat(filepath.Join(dir, "witness"))
	assert.ErrorIs(t, err, os.ErrNotExist)
}

func TestACommandThatAKillHadEndedIsNotRunAgain(t *testing.T) {
	t.Parallel()
	p, dir := portaltest.Start(t, portaltest.Options{}), t.TempDir()
	id := p.StartSession(dir, "")
	witness := filepath.Join(dir, "witness")
	p.Query(id, "run `echo once >> witness; sleep 60; echo twice >> witness`")
	require.Eventually(t, func() bool { _, err := os.Stat(witness); return err == nil }, 2*soon, tick)
	settle()
	p.Kill()
	require.Eventually(t, func() bool { return len(p.Children()) == 0 }, soon, tick)

	p = p.Again()
	require.Eventually(t, func() bool { return len(outcomes(t, lines(t, p, id))) == 1 }, soon, tick)
	assert.Contains(t, portaltest.Answer(goOn(t, p, id, "recall")), "echo once")
	assert.Equal(t, []string{"interrupted", "completed"}, outcomes(t, lines(t, p, id)))
	b, err := os.ReadFile(witness)
	require.NoError(t, err)
	assert.Equal(t, "once\n", string(b))
}

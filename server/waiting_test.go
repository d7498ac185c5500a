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

// interruptedSession is a session whose portal is killed in the middle of a run.
type interruptedSession struct {
	*testing.T
	portal *portaltest.Portal // first the one that is killed, then its successor
	id     string
	dir    string
	asked  string // the question that is open at the kill
}

// witness returns the path of a file that commands create.
func (c *interruptedSession) witness() string { return filepath.Join(c.dir, "witness") }

func (c *interruptedSession) lines() []string {
	c.Helper()
	return lines(c.T, c.portal, c.id)
}

func (c *interruptedSession) outcomes() []string {
	c.Helper()
	return outcomes(c.T, c.lines())
}

func (c *interruptedSession) goOn(prompt string) string {
	c.Helper()
	return portaltest.Answer(goOn(c.T, c.portal, c.id, prompt))
}

func (c *interruptedSession) answer(answer string) portaltest.Response {
	c.Helper()
	return c.portal.API("POST", "copilot/session/"+c.id+"/answer/"+c.asked, answer)
}

func TestPendingRequestsAreResolvedAfterKill(t *testing.T) {
	t.Parallel()
	cuts := map[string]struct {
		query         string // of the request that starts the session
		before, after func(*interruptedSession)
	}{
		"a permission is granted":                 {"permissions=ask", asksToWrite, permissionIsGranted},
		"a permission is refused":                 {"permissions=ask", asksToWrite, permissionIsRefused},
		"a question of the agent expires":         {"permissions=allow&interactive=true", asksWhich, questionExpires},
		"queued prompts are reported, not run":    {"", promptsWait, promptsAreReported},
		"an interrupted command is not run again": {"", commandRuns, commandIsNotRunAgain},
	}
	p, open := portaltest.Start(t, portaltest.Options{}), map[string]*interruptedSession{}
	for name, k := range cuts {
		open[name] = &interruptedSession{T: t, portal: p, dir: t.TempDir()}
		open[name].id = p.StartSession(open[name].dir, k.query)
		k.before(open[name])
	}
	settle()
	p.Kill()
	require.Eventually(t, func() bool { return len(p.Children()) == 0 }, soon, tick)
	p = p.Restart()
	for name, k := range cuts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open[name]
			c.T, c.portal = t, p.For(t)
			k.after(c)
		})
	}
}

func asksToWrite(c *interruptedSession) {
	c.portal.Query(c.id, "run `echo carried out > witness; cat witness`")
	c.asked = find(c.T, c.portal.Until(c.id, "onPermissionRequest"), "onPermissionRequest").Text("requestId")
}

func permissionIsGranted(c *interruptedSession) {
	got := permissionIsAnswered(c, `{"approved":true}`)
	assert.FileExists(c, c.witness())
	assert.Contains(c, got, "carried out")
}

func permissionIsRefused(c *interruptedSession) {
	got := permissionIsAnswered(c, `{"approved":false,"reason":"not today"}`)
	assert.NoFileExists(c, c.witness())
	assert.Contains(c, got, "not today")
}

func permissionIsAnswered(c *interruptedSession, answer string) (said string) {
	c.Helper()
	require.Eventually(c, func() bool { return state(c.portal, c.id) == "waiting" }, soon, tick)
	require.NoFileExists(c, c.witness())
	assert.Empty(c, c.answer(answer))
	got := c.portal.Until(c.id, "onIdle")
	assert.Equal(c, []string{"completed"}, c.outcomes(), "%v", got)
	assert.Equal(c, "rest", answeredBy(got, c.asked))
	assert.Equal(c, portaltest.Response{"error": "AlreadyAnswered"}, c.answer(answer))
	assert.Contains(c, c.goOn("recall"), "carried out > witness")
	return portaltest.Answer(got)
}

func asksWhich(c *interruptedSession) {
	c.portal.Query(c.id, "ask `Which heron?` choices `grey` `purple`")
	c.asked = find(c.T, c.portal.Until(c.id, "onUserInputRequest"), "onUserInputRequest").Text("requestId")
}

func questionExpires(c *interruptedSession) {
	assert.Equal(c, "expired", answeredBy(c.portal.Until(c.id, "onIdle"), c.asked))
	assert.Equal(c, []string{"interrupted"}, c.outcomes())
	assert.Equal(c, "idle", state(c.portal, c.id))
	assert.Equal(c, portaltest.Response{"error": "AlreadyAnswered"}, c.answer(`{"answer":"grey"}`))
	assert.Contains(c, c.goOn("recall"), "Which heron?")
}

func promptsWait(c *interruptedSession) {
	c.portal.Query(c.id, "wait 600 s")
	c.portal.Until(c.id, "onAgentStart")
	c.portal.Query(c.id, "run `touch witness`")
	require.Eventually(c, func() bool { return kept(c.T, c.portal, "touch witness") }, soon, tick)
}

func promptsAreReported(c *interruptedSession) {
	require.Eventually(c, func() bool { return len(c.outcomes()) == 2 }, soon, tick)
	assert.Equal(c, []string{"interrupted", "interrupted"}, c.outcomes())
	assert.Contains(c, strings.Join(c.lines(), "\n"), "touch witness")
	assert.Equal(c, "well", c.goOn("say `well`"))
	assert.NoFileExists(c, c.witness())
}

func commandRuns(c *interruptedSession) {
	c.portal.Query(c.id, "run `echo once >> witness; sleep 600; echo twice >> witness`")
	require.Eventually(c, func() bool { _, err := os.Stat(c.witness()); return err == nil }, 2*soon, tick)
}

func commandIsNotRunAgain(c *interruptedSession) {
	require.Eventually(c, func() bool { return len(c.outcomes()) == 1 }, soon, tick)
	assert.Contains(c, c.goOn("recall"), "echo once")
	assert.Equal(c, []string{"interrupted", "completed"}, c.outcomes())
	b, err := os.ReadFile(c.witness())
	require.NoError(c, err)
	assert.Equal(c, "once\n", string(b))
}

// answeredBy returns who answered a question, or how it ended otherwise.
func answeredBy(list []portaltest.Response, request string) (by string) {
	for _, r := range list {
		if r.Name() == "onQuestionAnswered" && r.Text("requestId") == request {
			by += r.Text("by")
		}
	}
	return by
}

func TestPermissionStaysOpenOverSeveralKills(t *testing.T) {
	t.Parallel()
	p, dir := portaltest.Start(t, portaltest.Options{}), t.TempDir()
	id := p.StartSession(dir, "permissions=ask")
	p.Query(id, "run `touch witness`")
	asked := find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest").Text("requestId")
	for range 2 {
		settle()
		p.Kill()
		p = p.Restart()
		require.Eventually(t, func() bool { return state(p, id) == "waiting" }, soon, tick)
	}
	assert.Empty(t, p.API("POST", "copilot/session/"+id+"/answer/"+asked, `{"approved":true}`))
	assert.Equal(t, "rest", answeredBy(p.Until(id, "onIdle"), asked))
	assert.FileExists(t, filepath.Join(dir, "witness"))
	assert.Equal(t, []string{"completed"}, outcomes(t, lines(t, p, id)))
}

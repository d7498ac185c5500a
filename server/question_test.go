package server_test

import (
	"flag"
	"os"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/server/portaltest"
)

func TestMain(m *testing.M) {
	if os.Getenv(formserver.Variable) != "" {
		formserver.Serve(os.Stdin, os.Stdout, os.Getenv(formserver.Mark))
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(testsPerProcessor*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// testsPerProcessor is the number of tests that run concurrently on each processor, unless -parallel sets it: they wait
// more than they compute.
const testsPerProcessor = 2

// proposal is a prompt for which the demo model proposes a plan.
const proposal = "call `exit_plan_mode` `{\"summary\":\"# Do it\\n- first\",\"actions\":[\"autopilot\",\"interactive\"],\"recommendedAction\":\"interactive\"}`"

func sendsPlansBack(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	id := p.StartSession(t.TempDir(), "permissions=ask")
	session := "copilot/session/" + id

	assert.Empty(t, p.API("POST", session+"/query?mode=plan", proposal))
	asked := find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest")
	assert.Equal(t, "plan", asked.Text("name"))
	assert.Equal(t, "Do it", asked.Text("title"))
	assert.Equal(t, "# Do it\n- first", asked.Text("detail"))
	assert.Equal(t, []any{"interactive", "autopilot", "exit_only"}, asked["choices"], "the recommended choice comes first; the CLI adds the last")
	assert.Empty(t, p.API("POST", session+"/answer/"+asked.Text("requestId"), `{"approved":false,"reason":"with tests, please"}`))
	assert.Contains(t, portaltest.Answer(p.Until(id, "onIdle")), "with tests, please")

	assert.Empty(t, p.API("POST", session+"/query?mode=plan", proposal))
	asked = find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest")
	answer := session + "/answer/" + asked.Text("requestId")
	assert.Contains(t, p.API("POST", answer, `{"approved":true,"answer":"fleet"}`).Text("error"), "not among the choices")
	assert.Empty(t, p.API("POST", answer, `{"approved":true,"answer":"interactive"}`))
	assert.Contains(t, portaltest.Answer(p.Until(id, "onIdle")), "Plan approved")
}

func proposesPlans(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	id := p.StartSession(t.TempDir(), "permissions=ask")
	session := "copilot/session/" + id

	assert.Empty(t, p.API("POST", session+"/query?mode=plan", "Make a plan for tea"))
	asked := find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest")
	assert.Contains(t, asked.Text("detail"), "> Make a plan for tea")
	assert.Empty(t, p.API("POST", session+"/answer/"+asked.Text("requestId"), `{"approved":true}`))
	assert.Contains(t, portaltest.Answer(p.Until(id, "onIdle")), "Plan approved")
}

func TestFormOfAnMCPServerIsFilledInByTheAPI(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	formserver.Configure(t, p.Home, nil)
	id := p.StartSession(t.TempDir(), "permissions=allow&interactive=true")
	session := "copilot/session/" + id

	p.Query(id, "call `desk-form`")
	asked := find(t, p.Until(id, "onFormRequest"), "onFormRequest")
	assert.Equal(t, "desk", asked.Text("source"))
	assert.Equal(t, "Who are you?", asked.Text("message"))
	fields, _ := asked["fields"].([]any)
	assert.Equal(t, []any{
		map[string]any{"name": "name", "title": "Name", "type": "string", "required": true, "min": 2.0},
		map[string]any{"name": "age", "title": "age", "type": "integer", "required": false, "min": 0.0},
		map[string]any{"name": "color", "title": "color", "type": "string", "required": false, "choices": []any{
			map[string]any{"value": "red", "title": "Red"}, map[string]any{"value": "green", "title": "Green"},
		}},
		map[string]any{"name": "news", "title": "news", "type": "boolean", "required": false, "default": true},
	}, fields)
	answer := session + "/answer/" + asked.Text("requestId")
	assert.Contains(t, p.API("POST", answer, `{"approved":true,"fields":{"name":"A"}}`).Text("error"), "at least 2 characters")
	assert.Empty(t, p.API("POST", answer, `{"approved":true,"fields":{"name":"Ada","age":36,"color":"green","news":false}}`))
	said := portaltest.Answer(p.Until(id, "onIdle"))
	for _, want := range []string{`"action":"accept"`, `"name":"Ada"`, `"age":36`, `"color":"green"`, `"news":false`} {
		assert.Contains(t, said, want)
	}

	p.Query(id, "call `desk-visit`")
	asked = find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest")
	assert.Equal(t, "sign-in", asked.Text("name"))
	assert.Equal(t, "https://example.com/login", asked.Text("url"))
	assert.Empty(t, p.API("POST", session+"/answer/"+asked.Text("requestId"), `{"approved":true}`))
	assert.Contains(t, portaltest.Answer(p.Until(id, "onIdle")), `"action":"accept"`)
}

package server_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestRememberedCommandAllowsNoOther(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{})
	id := p.StartSession(t.TempDir(), "permissions=ask")
	session := "copilot/session/" + id
	asked := func(prompt string) portaltest.Response {
		p.Query(id, prompt)
		return find(t, p.Until(id, "onPermissionRequest"), "onPermissionRequest")
	}
	answer := func(asked portaltest.Response, body string) {
		assert.Empty(t, p.API("POST", session+"/answer/"+asked.Text("requestId"), body))
		p.Until(id, "onIdle")
	}
	answer(asked("run `ls`"), `{"approved":true,"remember":true}`)
	p.Run(id, "run `ls`") // is not asked again
	for _, command := range []string{"cat /etc/passwd", "ls /root", "ls; cat /etc/passwd", "ls > list.txt"} {
		answer(asked("run `"+command+"`"), `{"approved":false}`)
	}

	p.Stop()
	code, stdout, stderr := inHome(t, p, "sessions", "permissions", id[:8])
	assert.Equal(t, 0, code, stderr)
	assert.Equal(t, "allow  exec.run(ls)\n", stdout)
	code, _, stderr = inHome(t, p, "sessions", "revoke", id[:8], "exec.run(cat)")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "portal sessions permissions")
	code, _, stderr = inHome(t, p, "sessions", "revoke", id[:8])
	assert.Equal(t, 2, code)
	assert.Contains(t, stderr, "--all")
	code, stdout, stderr = inHome(t, p, "sessions", "revoke", id[:8], "exec.run(ls)")
	assert.Equal(t, 0, code, stderr)
	assert.Empty(t, stdout)
	code, stdout, _ = inHome(t, p, "sessions", "permissions", id[:8], "--json")
	assert.Equal(t, 0, code)
	assert.JSONEq(t, `{"remembered": {}}`, stdout)
	code, stdout, stderr = inHome(t, p, "sessions", "permissions", id[:8])
	assert.Equal(t, 0, code)
	assert.Empty(t, stdout)
	assert.Contains(t, stderr, "The session remembers no permissions")
	p = p.Restart()
	answer(asked("run `ls`"), `{"approved":false}`)
}

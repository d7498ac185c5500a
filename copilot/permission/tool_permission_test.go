package permission_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/permission"
)

func TestForcedPushOfClientToolIsForcePush(t *testing.T) {
	for _, c := range []struct{ tool, arguments, want string }{
		{"git.push", `{"force":true}`, "git.forcePush"},
		{"git.push", `{"force":"yes"}`, "git.forcePush"},
		{"git.push", `{"force":1}`, "git.forcePush"},
		{"git.push", `{"force":false}`, "git.push"},
		{"git.push", `{"force":null}`, "git.push"},
		{"git.push", `{}`, "git.push"},
		{"git.push", ``, "git.push"},
		{"git.push", `"force"`, "git.push"},
		{"git.commit", `{"force":true}`, "git.commit"},
	} {
		assert.Equal(t, c.want, permission.OfTool(c.tool, json.RawMessage(c.arguments)), "%s %s", c.tool, c.arguments)
	}
}

package ui_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTheListsOfAClosedSession(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.able()
		_, session := u.run("a")
		u.ask("portal.session.close", document{"session_id": session})
		for _, method := range []string{"mcp.list", "skills.list", "model.list"} {
			assert.NotContains(t, u.ask(method, document{}), "code", method)
		}
		assert.NotContains(t, u.ask("model.set", document{"name": u.ask("model.list", document{})["models"].([]any)[0]}), "code")
	})
}

package ui_test

import (
	"testing"

	"github.com/stretchr/testify/require"

)

func TestAQuestionIsPutAgainWithEachAttach(t *testing.T) {
	inTime(t, func(p *portal) {
		p.agents.Script = command
		u := p.able()
		_, session := u.run("work")
		for i := range 300 {
			u.heard()
			u.say("portal.session.attach", document{"session_id": session})
			require.Contains(t, u.heard(), "ui.confirm.request List files ls", "%d", i)
		}
	})
}

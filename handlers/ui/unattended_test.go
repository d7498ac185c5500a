package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
)

func TestQuestionWaitsForTheUIsThatCanPutIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &portal{T: t, agents: fake.New()}
		p.agents.Script = command
		p.host = p.agents.NewHost(copilot.Options{Unattended: map[string]copilot.Unattended{ui.Origin: {After: 2 * time.Minute}}})
		p.ui = ui.New(ui.Options{Host: p.host, WorkDir: "/", Headless: permission.Ask})
		defer p.agents.Close()
		defer p.host.Close(t.Context())

		able, unable := p.able(), p.open()
		_, session := able.run("x")
		unable.ask("portal.session.attach", document{"session_id": session})
		time.Sleep(time.Hour)
		able.heard()
		assert.Empty(t, able.heard())
		assert.Contains(t, unable.heard(), "status awaiting_ui", "and no more")
		assert.Empty(t, unable.heard())

		close(able.in)
		time.Sleep(time.Minute)
		assert.Empty(t, unable.heard())
		unable.ask("initialize", document{"ui_capabilities": document{"supports_confirm": true}})
		unable.heard()
		time.Sleep(time.Hour)
		assert.Empty(t, unable.heard(), "it has become able to")

		unable.ask("portal.session.detach", document{"session_id": session})
		late := p.open()
		late.ask("portal.session.attach", document{"session_id": session})
		late.heard()
		time.Sleep(2*time.Minute - time.Second)
		assert.Empty(t, late.heard())
		time.Sleep(2 * time.Second)
		assert.Contains(t, late.heard(), "status completed", "nobody could answer any more")
	})
}

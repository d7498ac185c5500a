package ui_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/ui"
	"github.com/copilot-portal/portal/handlers/ui/uitest"
)

func TestRunRightBehindInitializeMayAsk(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Open()
		u.Say("initialize", document{"protocol_version": "0", "client": document{"name": "test", "version": "1"}, "ui_capabilities": document{"supports_confirm": true}})
		u.Say("run.start", document{"input": text("hello")})
		synctest.Wait()
		opened := p.Agents.Calls(fake.Open)
		require.Len(t, opened, 1)
		assert.True(t, opened[0].Opening.AskUser)
	})
}

func TestQuestionWaitsForUIsThatCanAskIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := uitest.New(t, uitest.Options{Host: copilot.Options{Unattended: map[string]copilot.Unattended{ui.Origin: {After: 2 * time.Minute}}}, UI: ui.Options{Headless: permission.Ask}})
		p.Agents.Script = command
		defer p.Agents.Close()
		defer p.Host.Close(t.Context())

		able, unable := p.Able(), p.Open()
		_, session := able.Prompt("x")
		unable.Ask("portal.session.attach", document{"session_id": session})
		time.Sleep(time.Hour)
		able.Heard()
		assert.Empty(t, able.Heard())
		assert.Contains(t, unable.Heard(), "status awaiting_ui", "and no more")
		assert.Empty(t, unable.Heard())

		close(able.In)
		time.Sleep(time.Minute)
		assert.Empty(t, unable.Heard())
		unable.Ask("initialize", document{"ui_capabilities": document{"supports_confirm": true}})
		unable.Heard()
		time.Sleep(time.Hour)
		assert.Empty(t, unable.Heard(), "it has become able to")

		unable.Ask("portal.session.detach", document{"session_id": session})
		late := p.Open()
		late.Ask("portal.session.attach", document{"session_id": session})
		late.Heard()
		time.Sleep(2*time.Minute - time.Second)
		assert.Empty(t, late.Heard())
		time.Sleep(2 * time.Second)
		assert.Contains(t, late.Heard(), "status completed", "nobody could answer any more")
	})
}

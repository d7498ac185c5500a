package ui_test

import (
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui"
)

func TestEndOfInputReportsRunEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		script func(*fake.Turn)
		want   []string
	}{
		"that are at work":            {func(t *fake.Turn) { t.WaitForAbort() }, []string{"status cancelled"}},
		"whose answer is interrupted": {func(t *fake.Turn) { t.Say("a"); t.WaitForAbort() }, []string{"0 text a", "status cancelled"}},
		"that ask":                    {command, []string{"2 tool_result bash the call was cut off with its run", "3 step_complete error", "status cancelled"}},
		"that have ended":             {func(t *fake.Turn) { t.Say("a") }, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(p *portal) {
				p.agents.Script = tc.script
				u := p.openAs(ui.Client{End: func() { p.host.Close(p.Context()) }})
				u.ask("initialize", document{"protocol_version": "0", "ui_capabilities": document{"supports_confirm": true}})
				u.run("work")
				u.heard()
				close(u.in)
				require.NoError(t, <-u.done)
				assert.Equal(t, append(tc.want, "portal.session.closed"), u.heard())
			})
		})
	}
}

// A run that waits for a permission is left as it is for the next portal.
func TestRunLeftForNextPortalIsCancelledHere(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	synctest.Test(t, func(t *testing.T) {
		kept, err := store.Open(t.Context(), store.Options{Directory: directory})
		require.NoError(t, err)
		p := &portal{T: t, agents: fake.New()}
		p.agents.Script = command
		p.host = p.agents.NewHost(copilot.Options{Store: kept})
		defer func() { require.NoError(t, kept.Close()) }()
		defer p.agents.Close()
		defer p.host.Close(t.Context())
		p.ui = ui.New(ui.Options{Host: p.host, WorkDir: "/"})
		u := p.openAs(ui.Client{End: func() { p.host.Close(t.Context()) }})
		u.ask("initialize", document{"protocol_version": "0", "ui_capabilities": document{"supports_confirm": true}})
		u.run("work")
		u.heard()
		close(u.in)
		require.NoError(t, <-u.done)
		assert.Equal(t, []string{"status cancelled the portal ended before this run did, which goes on when the session is used again"}, u.heard())
	})
}

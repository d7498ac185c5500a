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
	"github.com/copilot-portal/portal/handlers/ui/uitest"
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
				p.Agents.Script = tc.script
				u := p.OpenAs(ui.Client{End: func() { p.Host.Close(p.Context()) }})
				u.Ask("initialize", document{"protocol_version": "0", "ui_capabilities": document{"supports_confirm": true}})
				u.Prompt("work")
				u.Heard()
				close(u.In)
				require.NoError(t, <-u.Done)
				assert.Equal(t, append(tc.want, "portal.session.closed"), u.Heard())
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
		p := uitest.New(t, uitest.Options{Host: copilot.Options{Store: kept}})
		p.Agents.Script = command
		defer func() { require.NoError(t, kept.Close()) }()
		defer p.Agents.Close()
		defer p.Host.Close(t.Context())
		u := p.OpenAs(ui.Client{End: func() { p.Host.Close(t.Context()) }})
		u.Ask("initialize", document{"protocol_version": "0", "ui_capabilities": document{"supports_confirm": true}})
		u.Prompt("work")
		u.Heard()
		close(u.In)
		require.NoError(t, <-u.Done)
		assert.Equal(t, []string{"status cancelled the portal ended before this run did, which goes on when the session is used again"}, u.Heard())
	})
}

package assets_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// TestPageUsesSessionOfAnotherPortal uses a session that another portal on the same data directory holds, such as that of an IDE.
func TestPageUsesSessionOfAnotherPortal(t *testing.T) {
	t.Parallel()
	holder := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
	portal := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Home: holder.Home})
	p := page{t, portaltest.StartChromium(t), portal}
	dir := t.TempDir()
	session := holder.API("POST", "copilot/session/start/demo?permissions=ask", dir).Text("sessionId")
	require.NotEmpty(t, session)
	holder.Query(session, "run `echo x > made` and say `first`")

	b := p.visit(session)
	b.Click(id("allow"))
	idle(b, 1)
	assert.FileExists(t, filepath.Join(dir, "made"))
	send(b, "say `second`")
	idle(b, 2)
	b.WaitText(id("conversation"), "second")
	listed, _ := portal.API("GET", "copilot/session", "")["sessions"].([]any)
	require.Len(t, listed, 1)
	assert.EqualValues(t, holder.PID, listed[0].(map[string]any)["owner"])
}

package assets_test

import (
	"path/filepath"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// usesSessionOfAnotherPortal uses a session that another portal on the same data directory holds, such as that of an IDE.
func usesSessionOfAnotherPortal(t page) {
	holder := t.own().portal
	t.portal = startPortal(t, portaltest.Options{Args: []string{"--demo"}, Home: holder.Home})
	dir := t.TempDir()
	session := holder.API("POST", "copilot/session/start/demo?permissions=ask", dir).Text("sessionId")
	require.NotEmpty(t, session)
	holder.Query(session, "run `echo x > made` and say `first`")

	b := t.visit(session)
	b.Click(id("allow"))
	idle(b, 1)
	assert.FileExists(t, filepath.Join(dir, "made"))
	send(b, "say `second`")
	idle(b, 2)
	b.WaitText(id("conversation"), "second")
	listed, _ := t.portal.API("GET", "copilot/session", "")["sessions"].([]any)
	require.Len(t, listed, 1)
	assert.EqualValues(t, holder.PID, listed[0].(map[string]any)["owner"])
}

package server_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// The current plugin passes no callback address and does not answer tool.approval.
func TestUnattendedPluginRunEndsWithReason(t *testing.T) {
	t.Parallel()
	for headless, result := range map[string]string{"deny": "failed", "allow": "completed"} {
		t.Run(headless, func(t *testing.T) {
			t.Parallel()
			p := ide{t, portaltest.Start(t, portaltest.Options{Env: []string{"PORTAL_SIDECAR_UNATTENDED=1s", "PORTAL_PERMISSIONS_HEADLESS=" + headless}})}
			id := p.create(document{"permissions": document{"exec.run": "ask"}, "workingDirectory": t.TempDir()})
			p.send(id, "run `echo heron`")
			all := p.done(id)
			assert.Contains(t, shown(all), "No client that can answer was there for 1s")
			faults, ends := 0, map[any]bool{}
			for _, e := range all {
				switch e.name {
				case "error":
					faults++
					assert.Contains(t, e.data["data"], "sidecar.unattended")
				case "timeline.toolCall":
					ends[e.data["status"]] = true
				}
			}
			assert.Equal(t, 1, faults)
			assert.True(t, ends[result], "%v", ends)
			assert.Equal(t, "completed", all[len(all)-1].data["status"])
		})
	}
}

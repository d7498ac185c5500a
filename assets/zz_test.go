package assets_test

import (
	"testing"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestZZ(t *testing.T) {
	portal := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
	chromium := portaltest.StartChromium(t)
	s := stage{t, chromium, portal}
	id := portal.StartSession(t.TempDir(), "permissions=allow")
	portal.Run(id, "say `user\u202egnp.exe\u202c \u2066\u200b`")
	w := s.watch("/#/s/" + id)
	w.shows(".text", "gnp")
	t.Logf("%+q", evaluate[string](t, w.Browser, `document.querySelector(".prompt-text").textContent+"|"+document.querySelector(".text").textContent`))
}

package portaltest_test

import (
	"net/url"
	"testing"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestMovedElementIsClickedAgain(t *testing.T) {
	t.Parallel()
	page := `<button style="position: absolute" onclick="document.title = 'clicked'">Go</button>
<script>addEventListener("pointerdown", () => document.querySelector("button").style.top = "200px", { once: true })</script>`
	b := portaltest.StartChromium(t).Open(t, "data:text/html,"+url.PathEscape(page))
	b.Click("button")
	b.Wait(`document.title === "clicked"`)
}

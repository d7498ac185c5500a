package portaltest_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
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

func TestWaitSurvivesNavigation(t *testing.T) {
	t.Parallel()
	var loads atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = fmt.Fprintf(w, `<script>window.loads = %d; if (loads < 20) setTimeout(() => location.reload(), 5 * loads)</script>`, loads.Add(1))
	}))
	t.Cleanup(site.Close)
	b := portaltest.StartChromium(t).Open(t, site.URL)
	b.Wait("window.loads === 20")
}

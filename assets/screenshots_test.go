//go:build screenshots

package assets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// pictures is the output directory.
const pictures = "../spec/pictures"

// light is a window size and color scheme.
type light struct {
	name          string
	width, height int64
	scale         float64
	scheme        string
}

var looks = []light{
	{"desktop", 1280, 800, 1, "light"},
	{"desktop", 1280, 800, 1, "dark"},
	{"phone", 390, 844, 2, "light"},
	{"phone", 390, 844, 2, "dark"},
}

// TestPictures takes screenshots of every view, with sessions on a small project.
func TestPictures(t *testing.T) {
	require.NoError(t, os.MkdirAll(pictures, 0o755))
	s := newStudio(t)
	for _, l := range looks {
		t.Run(l.name+" "+l.scheme, func(t *testing.T) { s.draw(t, l) })
	}
}

// draw takes the screenshots of one window size and scheme.
func (s *studio) draw(t *testing.T, l light) {
	tab := s.chromium.Open(t, "about:blank")
	wait := func(condition string) {
		tab.Do(chromedp.Poll[chromedp.Void](condition, chromedp.WithPollingInterval(50*time.Millisecond)))
	}
	do := func(script string) { tab.Do(chromedp.Evaluate[chromedp.Void]("void (" + script + ")")) }
	_, err := chromedp.Call(tab.Context, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: l.scheme}, {Name: "prefers-reduced-motion", Value: "reduce"}},
	})
	require.NoError(t, err)
	options := []chromedp.EmulateViewportOption{chromedp.EmulateScale(l.scale)}
	if l.name == "phone" {
		options = append(options, chromedp.EmulateMobile, chromedp.EmulateTouch)
	}
	tab.Do(chromedp.EmulateViewport(l.width, l.height, options...))
	tab.Do(chromedp.Navigate(s.portal.URL))
	do(fmt.Sprintf(`localStorage.setItem("portal.directory", %q)`, filepath.Join(s.home, "orders-api"))) // the last directory
	show := func(name, hash, condition, script string) {
		tab.Do(chromedp.Navigate(s.portal.URL + "/?" + name + hash))
		wait(`document.querySelectorAll(".row").length >= 5 && ` + condition)
		if script != "" {
			do(script)
		}
		s.save(t, tab, fmt.Sprintf("%s-%s-%s.png", name, l.name, l.scheme))
	}
	done := `document.querySelectorAll("[data-testid=end]").length > 0`
	show("start", "#/", `document.querySelector("[data-testid=model]") && document.querySelectorAll(".example").length > 0`, "")
	show("session", "#/s/"+s.ids["expire"], done, "")
	show("work", "#/s/"+s.ids["expire"], done, `(() => {
		const tools = [...document.querySelectorAll("[data-testid=tool] details")];
		const edit = tools.find((e) => e.textContent.includes("Edited")), test = tools.findLast((e) => e.textContent.includes("go test"));
		edit.open = test.open = true;
		document.querySelector(".to-end")?.blur();
		setTimeout(() => edit.scrollIntoView({ block: "start" }), 100);
	})()`)
	show("changes", "#/s/"+s.ids["expire"]+"?changes", `document.querySelectorAll("[data-testid=changes] .change").length > 0`,
		`document.querySelector("[data-testid=changes] details:not([open]) summary, [data-testid=changes] .change button[aria-expanded=false]")?.click()`)
	show("file", "#/s/"+s.ids["expire"]+"?file=store%2Forders.go&line=17", `document.querySelector("[data-testid=file] .line, [data-testid=file] li, [data-testid=file] tr, [data-testid=file] code") !== null`, "")
	show("question", "#/s/"+s.ids["push"], `document.querySelector("[data-testid=question]")`, "")
	show("agents", "#/s/"+s.ids["review"], done, "")
	show("error", "#/s/"+s.ids["failed"], `document.querySelector("[data-testid=error]")`, "")
	show("status", "#/status", `document.querySelector("[data-testid=status-page]")?.textContent.includes("Sessions")`, "")
	show("reference", "#/reference", `document.querySelectorAll("[data-testid=reference-entry]").length > 50`, `document.querySelector("[data-id=listContracts]").open = true`)
	show("settings", "#/settings", `document.querySelector("[data-testid=settings]")?.textContent.includes("Skills")`, "")
	show("commands", "#/s/"+s.ids["expire"], done, `document.dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true, bubbles: true }))`)
	show("operations", "#/operations", `document.querySelector("[data-testid=model]")?.value`, "")
	show("jobs", "#/jobs", `document.querySelector("[data-testid=jobs] li")`, `document.querySelector("input[value=refine]").click()`)
	show("job", "#/j/"+s.ids["job"], `document.querySelector("[data-testid=status]").textContent === "Succeeded"`, `(() => {
		const task = document.querySelector(".task[data-task=review-clarity]");
		if (task.getAttribute("aria-pressed") === "false") task.dispatchEvent(new MouseEvent("click"));
	})()`)
	if l.name == "phone" {
		show("rail", "#/s/"+s.ids["expire"], done, `document.querySelector("[data-testid=rail-toggle]").click()`)
		show("side", "#/s/"+s.ids["expire"], done, `document.querySelector("[data-testid=side-toggle]").click()`)
	}
}

// homely replaces the home directory by ~, so that screenshots do not depend on the
// machine.
const homely = `((home) => {
	const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let node; (node = walk.nextNode()); ) if (node.data.includes(home)) node.data = node.data.replaceAll(home, "~");
	for (const input of document.querySelectorAll("input, textarea")) if (input.value.includes(home)) input.value = input.value.replaceAll(home, "~");
})(%q)`

func (s *studio) save(t *testing.T, tab *portaltest.Browser, name string) {
	t.Helper()
	tab.Do(chromedp.Sleep(400*time.Millisecond), // let the page redraw
		chromedp.Evaluate[chromedp.Void]("void "+fmt.Sprintf(homely, s.home)))
	raw, err := chromedp.Run(tab.Context, chromedp.CaptureScreenshot())
	require.NoError(t, err)
	text, err := chromedp.Run(tab.Context, chromedp.Evaluate[string]("document.body.innerText"))
	require.NoError(t, err)
	require.False(t, strings.Contains(text, os.TempDir()), "%s contains a path of this machine", name)
	require.NoError(t, os.WriteFile(filepath.Join(pictures, name), small(t, raw), 0o644))
}

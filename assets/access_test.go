package assets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/server/portaltest"
)

// access is the environment of an accessibility test.
type access struct {
	*testing.T
	chromium *portaltest.Chromium
	portal   *portaltest.Portal
	axe      string // the source of axe-core
}

func isAccessible(t page) {
	axe := axeSource(t.T)
	t = t.own()
	formserver.Configure(t, t.portal.Home, nil)
	for name, look := range map[string]func(access){
		"views, status and palette": checkViews,
		"conversation":              checkConversation,
		"changes":                   checkChanges,
		"commits":                   checkCommit,
		"actions on messages":       checkActions,
		"files":                     checkFiles,
		"every kind of question":    checkQuestions,
		"announcements":             checkAnnouncements,
		"reduced motion":            checkReducedMotion,
	} {
		t.Run(name, func(sub *testing.T) {
			sub.Parallel()
			look(access{sub, t.chromium, t.portal.For(sub), axe})
		})
	}
}

// axeSource returns the source of axe-core.
func axeSource(t *testing.T) string {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join("..", ".tools", "axe", "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err, "axe-core is missing: run make axe (make test does it)")
	return string(axe)
}

// page opens an address and loads axe-core through DevTools, which the
// Content-Security-Policy does not restrict.
func (a access) page(place string) *portaltest.Browser {
	a.Helper()
	b := a.chromium.Open(a.T, a.portal.URL+place)
	a.load(b)
	return b
}

func (a access) load(b *portaltest.Browser) {
	a.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](a.axe))
}

// check checks the page in both color schemes, in its current size.
func (a access) check(b *portaltest.Browser, what string) {
	a.Helper()
	a.checkScheme(b, what, "dark", colours) // other rules do not depend on the scheme
	a.checkScheme(b, what, "light", allRules)
}

func (a access) checkScheme(b *portaltest.Browser, what, scheme, rules string) {
	a.Helper()
	prefer(b, "color-scheme", scheme, "reduced-motion", "reduce")
	for _, fault := range evaluate[[]string](a.T, b, "(async () => { const run = "+rules+";"+reportOf) {
		assert.Fail(a.T, fault, "%s, %s", what, scheme)
	}
}

const (
	allRules = `{ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"], resultTypes: ["violations"], iframes: false }` // generated code has an opaque origin and cannot be inspected
	colours  = `{ runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] }, resultTypes: ["violations"], iframes: false }`

	reportOf = `
  const { violations } = await axe.run(document, run);
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html, target, any }) => id + ": " + help + "\n" + target + "\n" + html.slice(0, 300) + "\n" + any.map(({ message }) => message)));
})()`
)

// checkSizes checks the page on a desktop and on a phone. Colors are the same on both.
func (a access) checkSizes(b *portaltest.Browser, what string) {
	a.Helper()
	desktop(b)
	a.check(b, what+" on a desktop")
	phone(b)
	a.checkScheme(b, what+" on a phone", "light", allRules)
	desktop(b)
}

func checkViews(a access) {
	a.portal.StartSession(a.TempDir(), "permissions=allow")
	id := portaltest.ID
	b := a.page("/#/")
	b.WaitText(id("model"), "Demo")
	b.WaitText(id("sessions"), "Untitled")
	a.checkSizes(b, "the start")
	for _, chip := range []string{"model", "permissions", "chip-directory"} {
		b.Click(id(chip))
		b.Wait(`document.querySelector(".chip-menu:popover-open :is([role=menuitemradio], #directories [role=option])")`)
		a.check(b, "the menu of "+chip)
		phone(b)
		a.checkScheme(b, "the menu of "+chip+" on a phone", "dark", allRules)
		desktop(b)
		b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".chip-menu:popover-open")?.hidePopover()`))
	}

	b.Click(id("filter"))
	b.Wait(`document.querySelector(".menu:popover-open")`)
	a.check(b, "the filter")
	b.Click(id("filter-menu") + ` [role="group"]:first-child button:nth-child(2)`) // waiting
	b.Wait(`document.querySelector(".rail-chips button")`)
	b.Do(chromedp.Evaluate[chromedp.Void](`void (document.querySelector(".rail-notice").hidden = false)`))
	a.checkSizes(b, "a filtered list with the offer of notifications")
	b.Do(chromedp.Evaluate[chromedp.Void](`void (document.querySelector(".rail-notice").hidden = true)`))
	b.Click(".rail-chips button")

	b.Click(".row-more")
	b.Wait(`document.querySelector(".menu:popover-open")`)
	a.check(b, "the menu of a session")
	b.Click(".menu:popover-open button")
	b.Wait(`document.querySelector("dialog[open]")`)
	a.check(b, "a dialog")
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	b.Wait(`document.querySelector(".palette[open]")`)
	a.checkSizes(b, "the palette")
	b.Type(".palette input", "no such thing")
	a.check(b, "an empty palette")
	b.Do(chromedp.KeyEvent(kb.Escape))

	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/status"`))
	b.WaitText(id("status-page"), "Skills")
	a.checkSizes(b, "the status")
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/reference"`))
	b.Click(`[data-id="getHealth"] > summary`)
	b.Click(`[data-id="getHealth"] [data-testid="reference-send"]`)
	b.WaitText(id("reference-output"), `"agent"`)
	a.checkSizes(b, "the reference")
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/settings"`))
	b.WaitText(id("settings-permissions"), "Unattended")
	b.WaitText(id("settings-servers"), "gone")
	b.Click(id("check-servers"))
	b.WaitText(id("settings-servers"), "What went wrong")
	b.Click(id("add-server"))
	b.Type("#server-name", "mine")
	b.Type("#server-command", "mine 'a b'")
	b.Type("#server-variables", "KEY=value")
	b.WaitText(id("server-what"), "KEY")
	a.checkSizes(b, "the settings")
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/operations"`))
	b.Wait(`document.querySelector('[data-testid="kind"]') !== null && document.querySelector('[data-testid="model"]').value !== ""`)
	b.Click("details.more summary")
	a.checkSizes(b, "operations")
	a.jobs(b)
	a.interfaces(b)
	b.Do(chromedp.KeyEvent("?"))
	b.Wait(`document.querySelector(".dialog[open]")`)
	a.check(b, "the keys")
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Type(id("search"), "nothing like it")
	a.check(b, "a search that finds nothing")
	phone(b)
	b.Click(id("rail-toggle"))
	b.Wait(`document.querySelector("#rail[data-open]")`)
	a.check(b, "the drawer")
	assert.True(a, evaluate[bool](a.T, b, `document.querySelector("#rail").contains(document.activeElement) && document.querySelector(".stage").inert`), "the focus is in the drawer")
	b.Do(chromedp.KeyEvent(kb.Escape)) // clears the search
	b.Click(".row-more")
	b.Wait(`document.querySelector(".menu:popover-open")`)
	a.check(b, "a menu in the drawer")
	b.Do(chromedp.KeyEvent(kb.Escape))
	b.Wait(`!document.querySelector(".menu:popover-open") && document.querySelector("#rail[data-open]")`)
	b.Do(chromedp.KeyEvent(kb.Escape))
	assert.Equal(a, "rail-toggle", evaluate[string](a.T, b, `document.activeElement.id`), "the focus returns to the toggle")
	assert.False(a, evaluate[bool](a.T, b, `document.querySelector(".stage").inert`))
}

// jobs checks a job and the list of jobs.
func (a access) jobs(b *portaltest.Browser) {
	a.Helper()
	id := portaltest.ID
	job := a.portal.API("POST", "copilot/job/start/review", a.TempDir()).Text("jobId")
	require.NotEmpty(a, job)
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/j/` + job + `"`))
	b.WaitText(id("status"), "Succeeded")
	b.Do(chromedp.Click(chromedp.CSS(".task")))
	b.WaitText(id("sessions-of"), "Sessions of review-diff")
	a.checkSizes(b, "a job")
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/jobs"`))
	b.WaitText(id("jobs"), "review")
	b.Click("details.more summary")
	b.Wait(`document.querySelector("details.more svg")`)
	a.checkSizes(b, "jobs")
}

// interfaces checks an interface and the form that creates one.
func (a access) interfaces(b *portaltest.Browser) {
	a.Helper()
	id := portaltest.ID
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/interfaces"`))
	b.Click(id("sample"))
	a.checkSizes(b, "the form of interfaces")
	b.Click(id("send"))
	b.WaitCount(id("versions")+" > li", 1)
	b.Wait(shownInFrame)
	b.Write(id("prompt"), "dark")
	b.Click(id("send"))
	b.WaitCount(id("versions")+" > li", 2)
	b.Wait(shownInFrame)
	a.checkSizes(b, "an interface")
	b.Click(`[data-act="compare"]`)
	b.WaitText(id("diff"), "dark")
	a.check(b, "two versions")
	b.Do(chromedp.KeyEvent(kb.Escape))
}

// script produces every kind of block.
const script = "think about the sea, run `for i in 1 2 3; do printf \"\\033[3${i}mline\\033[0m\\033[4${i}m $i\\033[0m\\n\"; done; git diff --no-index a.txt b.txt`, read `a.txt`, read `b.txt`, edit `a.txt` `two` `2`, " +
	"write `main.go` ```\npackage main // comment\n\nfunc main() { println(\"hi\", 1) }\n``` and plan `Look` `Leap`, run `false` then markdown"

func checkConversation(a access) {
	dir := a.TempDir()
	for _, name := range []string{"a.txt", "b.txt"} {
		require.NoError(a, os.WriteFile(filepath.Join(dir, name), []byte("one\ntwo\nthree "+name+"\n"), 0o600))
	}
	id := a.portal.StartSession(dir, "permissions=allow&interactive=true")
	a.portal.Run(id, script)
	a.portal.Run(id, "say `"+strings.Repeat("word ", 400)+"`")
	a.portal.Query(id, "fail")
	b := a.page("/#/s/" + id)
	b.WaitText(portaltest.ID("error"), "")
	b.Wait(`document.querySelectorAll(".end").length == 3`)
	a.checkSizes(b, "a conversation")
	b.Do(chromedp.Evaluate[chromedp.Void](`for (const d of document.querySelectorAll("details")) d.open = true`))
	b.WaitText(portaltest.ID("side-extensions"), "desk")
	a.checkSizes(b, "an unfolded conversation")
	phone(b)
	b.Click(portaltest.ID("side-toggle"))
	a.check(b, "the details on a phone")
}

func checkQuestions(a access) {
	dir := a.TempDir()
	require.NoError(a, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600))
	id := a.portal.StartSession(dir, "permissions=ask&interactive=true")
	b := a.page("/#/s/" + id)
	question := portaltest.ID("question")
	for _, c := range []struct{ prompt, mode, text string }{
		{"run `touch a.txt && rm a.txt`", "", "touch"},
		{"edit `a.txt` `two` `2`", "", "two"},
		{"ask `Tea or coffee?` choices `tea` `coffee`", "", "coffee"},
		{"ask `What else?`", "", "What else?"},
		{"call `exit_plan_mode` `{\"summary\":\"# Do it\\n- first\",\"actions\":[\"autopilot\",\"interactive\"],\"recommendedAction\":\"interactive\"}`", "plan", "first"},
		{"call `desk-form`", "", "Who are you?"},
		{"call `desk-form` `{\"message\":\"Which?\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{\"all\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":[\"a\",\"b\"]}}}}}`", "", "Which?"},
		{"call `desk-visit`", "", "example.com"},
	} {
		a.portal.API("POST", "copilot/session/"+id+"/query?mode="+c.mode, c.prompt)
		allowUntil(a, b, c.text)
		a.checkSizes(b, c.prompt)
		b.Click(question + " " + portaltest.ID("refuse"))
		a.portal.Until(id, "onIdle")
		b.WaitGone(question)
	}
}

// checkTabOrder walks through the page with Tab: every stop is visible and in visual order, and there is no trap. It needs
// its own list of sessions.
func checkTabOrder(a access) {
	id := a.portal.StartSession(a.TempDir(), "permissions=allow")
	a.portal.Run(id, "run `echo heron`, think, then markdown")
	b := a.chromium.Open(a.T, a.portal.URL+"/#/")
	desktop(b)
	b.WaitText(portaltest.ID("model"), "Demo")
	b.WaitText(portaltest.ID("sessions"), "heron")
	start := a.walk(b)
	for _, want := range []string{"A.brand", "new-session", "search", "A.row-link", "BUTTON.quiet row-more", "settings-link", "prompt", "BUTTON.example", "BUTTON.chip-button model", "BUTTON.chip-button mode", "chip-directory", "BUTTON.chip-button permissions"} {
		assert.Contains(a, strings.Join(start, "\n"), want)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/s/` + id + `"`))
	b.WaitText(portaltest.ID("answer"), "Saturn")
	b.Is(withMouse)
	prefer(b, "reduced-motion", "reduce") // what appears on focus is there at once
	session := a.walk(b)
	for _, want := range []string{"side-toggle", "DIV.scroll", "SUMMARY", "A.anchor", "A.end-line", "prompt", "chip-model", "chip-mode", "chip-permissions", "Copy code", "Table"} {
		assert.Contains(a, strings.Join(session, "\n"), want)
	}
}

func (a access) walk(b *portaltest.Browser) []string {
	a.Helper()
	b.Do(chromedp.Evaluate[chromedp.Void](`(document.activeElement.blur(), getSelection().removeAllRanges(), document.body.setAttribute("tabindex", "-1"), document.body.focus(), document.body.removeAttribute("tabindex"))`))
	var stops []string
	for range 80 {
		b.Do(chromedp.KeyEvent(kb.Tab))
		stop := evaluate[struct {
			Name   string
			Faults []string
		}](a.T, b, look)
		for _, fault := range stop.Faults {
			assert.Fail(a.T, fault, "%s after %v", stop.Name, stops)
		}
		if stop.Name == "" || len(stops) > 0 && stop.Name == stops[0] {
			break
		}
		stops = append(stops, stop.Name)
	}
	missed := evaluate[[]string](a.T, b, unreached)
	assert.Empty(a.T, missed, "not reachable with Tab: %v", stops)
	assert.Less(a.T, len(stops), 80, "the walk ends: %v", stops)
	return stops
}

const (
	// look returns the focused element and its faults: it is invisible, or above the previous stop.
	look = `(() => {
  const e = document.activeElement;
  if (e === document.body) { delete globalThis.before; return { Name: "", Faults: [] }; }
  (globalThis.reached ??= new Set()).add(e);
  const faults = [], box = e.getBoundingClientRect();
  const name = e.tagName + "." + e.className + (e.name ?? "") + " " + (e.dataset.testid ?? "") + " " + (e.getAttribute("aria-label") ?? e.textContent.slice(0, 30));
  const frame = e.matches("input[type=radio]") ? e.closest("label") : e.closest(".box") && e.matches("textarea") ? e.closest(".box") : e.matches(".palette input") ? e.closest("dialog") : e;
  const style = getComputedStyle(frame), shown = frame.getBoundingClientRect();
  const visible = (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1) || style.boxShadow !== "none";
  if (!visible) faults.push("the focus is not visible");
  if (shown.width < 4 || shown.height < 4 || shown.bottom <= 0 || shown.top >= innerHeight || shown.right <= 0 || shown.left >= innerWidth) faults.push("outside the viewport: " + JSON.stringify(shown));
  for (let p = e; p; p = p.parentElement) if (getComputedStyle(p).opacity < 0.5 && !e.matches("input[type=radio]")) faults.push("transparent");
  const part = e.closest("aside, header, .scroll, .bottom, .column") ?? document.body;
  const before = globalThis.before;
  if (before?.part === part && part.contains(before.node) && !before.node.contains(e)) {
    const was = before.node.getBoundingClientRect();
    if (shown.bottom <= was.top && before.top === part.scrollTop) faults.push("above the previous stop");
  }
  globalThis.before = { node: frame, part, top: part.scrollTop };
  return { Name: name, Faults: faults };
})()`

	// unreached lists interactive elements that were no stop.
	unreached = `(() => {
  const reached = globalThis.reached;
  delete globalThis.reached; delete globalThis.before;
  const radios = new Set([...reached].filter((e) => e.type === "radio").map((e) => e.name));
  return [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
    .filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && !reached.has(e) && !radios.has(e.name) && e.type !== "file")
    .map((e) => e.outerHTML.slice(0, 200));
})()`
)

// checkAnnouncements records the live region. The run stays in each state until it is announced.
func checkAnnouncements(a access) {
	dir := a.TempDir()
	id := a.portal.StartSession(dir, "permissions=allow&interactive=true")
	b := a.page("/#/s/" + id)
	b.Wait(`document.querySelector("[role=status].hidden-text")`)
	b.Do(chromedp.Evaluate[chromedp.Void](`(globalThis.said = [], new MutationObserver(() => said.push(document.querySelector("[role=status].hidden-text").textContent))
    .observe(document.querySelector("[role=status].hidden-text"), { childList: true, characterData: true, subtree: true }))`))
	a.portal.Query(id, lasting("one")+", ask `Tea?` choices `yes` `no`, "+lasting("two")+" and say `done`")
	says := func(text string) { b.Wait(`said.at(-1)?.includes(` + literal(text) + `)`) }
	says("working")
	require.NoError(a, os.WriteFile(filepath.Join(dir, "one"), nil, 0o600))
	says("needs your answer")
	b.Click(portaltest.ID("choice"))
	says("working")
	require.NoError(a, os.WriteFile(filepath.Join(dir, "two"), nil, 0o600))
	says("done")
	assert.Equal(a, []string{"The agent is working.", "The agent needs your answer.", "The agent is working.", "The agent is done."}, evaluate[[]string](a.T, b, "said"))
}

// checkReducedMotion checks that nothing moves if the user prefers reduced motion.
func checkReducedMotion(a access) {
	id := a.portal.StartSession(a.TempDir(), "permissions=allow")
	b := a.page("/#/s/" + id)
	prefer(b, "reduced-motion", "reduce")
	a.portal.Query(id, "think, run `sleep 1; echo heron; sleep 600` and say `done`")
	b.WaitText(".tail", "heron")
	moving := `[...document.querySelectorAll("*")].filter((e) => ["", "::before", "::after"].some((part) => {
    const s = getComputedStyle(e, part || null);
    return s.animationName !== "none" || s.transitionDuration.split(", ").some((time) => parseFloat(time) > 0);
  })).map((e) => e.outerHTML.slice(0, 100))`
	assert.Empty(a, evaluate[[]string](a.T, b, moving))
	assert.Equal(a, 0, evaluate[int](a.T, b, `document.getAnimations().length`))
	prefer(b)
	assert.NotEmpty(a, evaluate[[]string](a.T, b, moving), "without the preference, something moves")
	b.Click(portaltest.ID("stop"))
	b.WaitText(portaltest.ID("end"), "Stopped")
}

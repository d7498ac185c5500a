package assets_test

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git/gittest"
	"github.com/copilot-portal/portal/server/portaltest"
)

// nth selects the nth block of a kind, from 0.
func nth(selector string, n int) string {
	return `[...document.querySelectorAll(` + literal(selector) + `)][` + string(rune('0'+n)) + `]`
}

// act opens the actions of the nth block of a kind with the keyboard, and chooses one.
func act(b *portaltest.Browser, selector string, n int, action string) {
	b.Wait(nth(selector, n) + `?.querySelector('[data-testid="more"]') != null`)
	b.Is(nth(selector, n) + `.querySelector('[data-testid="more"]').focus() === undefined`)
	b.Press(kb.Enter)
	b.Click(id("action-" + action))
}

// listen records what the page copies.
const listen = `(navigator.clipboard.writeText = (text) => ((globalThis.copied = text), Promise.resolve()), true)`

// withMouse drops the styles for devices without one, of which headless Chromium is one.
const withMouse = `(() => {
	for (const sheet of document.styleSheets) for (const rule of sheet.cssRules) if (rule.media?.mediaText === "(hover: none)") rule.media.mediaText = "not all";
	return true;
})()`

func showsActions(t page) {
	b, _ := t.session(t.TempDir(), "permissions=allow")
	b.Is(listen)
	b.Is(withMouse)
	send(b, "say `**One** two` and markdown")
	idle(b, 1)
	send(b, "say `<b>three</b>`")
	idle(b, 2)
	const places = `JSON.stringify([...document.querySelectorAll(".block, .end-row, [data-testid=prompt]")].map((e) => e.getBoundingClientRect().toJSON()))`
	for _, selector := range []string{id("prompt-block"), id("end")} {
		opacity := `getComputedStyle(` + nth(selector, 1) + `.querySelector(".message-actions")).opacity`
		b.Do(chromedp.Evaluate[chromedp.Void](nth(selector, 1) + `.scrollIntoView({block: "nearest"})`))
		before := b.Text(places)
		assert.Equal(t, "0", b.Text(opacity))
		t.hover(b, nth(selector, 1))
		b.Wait(opacity + ` === "1"`)
		b.Wait(nth(selector, 1) + `.querySelectorAll(".tool-button").length > 2`)
		assert.Equal(t, before, b.Text(places), "nothing moves")
	}
	act(b, id("prompt-block"), 1, "copy")
	b.Wait(`globalThis.copied === "say ` + "`<b>three</b>`" + `"`)
	b.Wait(`document.activeElement.matches('[data-testid="more"]')`) // the focus returns
	act(b, id("end"), 0, "markdown")
	b.Wait(`globalThis.copied.startsWith("**One** two")`)
	act(b, id("end"), 0, "copy")
	b.Wait(`globalThis.copied.startsWith("One two") && globalThis.copied.includes("\n")`)

	send(b, "wait 600 s")
	b.WaitText(id("status"), "Working")
	b.Is(nth(id("end"), 0) + `.querySelector('[data-testid="more"]').focus() === undefined`)
	b.Press(kb.Enter)
	b.Wait(`document.activeElement.matches('[data-testid="action-copy"]')`)
	b.Press(kb.ArrowDown)
	b.Wait(`document.activeElement.matches('[data-testid="action-markdown"]')`)
	b.Press(kb.Escape)
	b.WaitGone(id("menu"))
	b.WaitText(id("status"), "Working") // Escape closed the menu only
	act(b, id("prompt-block"), 0, "fork")
	b.WaitText("dialog[open]", "when the current run has ended")
	b.Press(kb.Escape)
	b.WaitGone("dialog[open]")
	b.Click(id("stop"))
	idle(b, 3)
}

// hover moves the mouse over an element, which may move away meanwhile.
func (t page) hover(b *portaltest.Browser, element string) {
	b.Wait(element + " !== null")
	began := time.Now()
	for over := false; !over; over = b.Is(element + `.matches(":hover")`) {
		box := evaluate[struct{ X, Y float64 }](t, b, `((r) => ({X: r.x + r.width / 2, Y: r.y + r.height / 2}))(`+element+`.getBoundingClientRect())`)
		b.Do(chromedp.MouseEvent("mouseMoved", box.X, box.Y))
		require.Less(t, time.Since(began), time.Minute, "the mouse is never over %s", element)
	}
}

func forksFromRun(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow")
	send(b, "say `one`")
	idle(b, 1)
	send(b, "say `two`")
	idle(b, 2)
	t.portal.API("POST", "copilot/session/"+session+"/rename", `<img src=x onerror="hit=1"> `+"\u202egnp")
	b.WaitText(id("title"), `<img src=x onerror="hit=1"> gnp`)
	act(b, id("prompt-block"), 0, "fork")
	b.WaitText(id("title"), "gnp (fork)")
	b.WaitText(id("origin"), `Forked from <img src=x onerror="hit=1"> gnp`)
	b.WaitCount(id("end"), 1)
	assert.False(t, b.Is(`document.querySelector('[data-testid="conversation"]').innerText.includes("two")`))
	send(b, "recall")
	idle(b, 2)
	b.Wait(`((text) => text.includes("say one") && !text.includes("two"))([...document.querySelectorAll('[data-testid="answer"]')].at(-1).textContent)`)
	t.reload(b)
	b.Click(id("origin"))
	b.Wait(at(session))
	b.WaitText(id("answer"), "two")
	assert.False(t, b.Is(`"hit" in globalThis`))
}

func editsPrompt(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow")
	send(b, "say `one`")
	idle(b, 1)
	send(b, "say `two`")
	idle(b, 2)
	act(b, id("prompt-block"), 1, "edit")
	b.Wait(`document.activeElement.matches('[data-testid="edit-text"]') && document.activeElement.value === "say \u0060two\u0060"`)
	b.Write(id("edit-text"), ", then recall")
	b.Press(kb.Escape)
	b.WaitGone(id("edit-text"))
	b.Wait(nth(id("prompt-block"), 1) + `.querySelector(".prompt-text").textContent === "say \u0060two\u0060"`)
	act(b, id("prompt-block"), 1, "edit")
	b.Wait(`document.activeElement.value === "say \u0060two\u0060, then recall"`) // Escape kept it
	b.Press(kb.Enter)
	b.Wait("!(" + at(session) + `) && location.hash.startsWith("#/s/")`)
	idle(b, 2)
	b.WaitText(id("origin"), "Forked from")
	b.Wait(`((text) => text.includes("say one") && !text.includes("then"))([...document.querySelectorAll('[data-testid="answer"]')].at(-1).textContent)`)
	b.Click(id("origin"))
	b.Wait(at(session))
	b.WaitGone(id("origin")) // the view of the fork
	idle(b, 2)
	assert.False(t, b.Is(`document.querySelector('[data-testid="conversation"]').innerText.includes("recall")`), "the original stays")
}

func retriesAnswer(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow")
	send(b, "say `one`")
	idle(b, 1)
	send(b, "recall")
	idle(b, 2)
	act(b, id("end"), 1, "retry")
	b.Wait("!(" + at(session) + `) && location.hash.startsWith("#/s/")`)
	idle(b, 2)
	b.Wait(`[...document.querySelectorAll('[data-testid="answer"]')].at(-1).textContent.includes("say one")`)
	b.Click(id("origin"))
	b.Wait(at(session))
	b.WaitGone(id("origin")) // the view of the fork
	idle(b, 2)
	act(b, id("end"), 0, "retry-model")
	b.Wait(`document.querySelector('[data-testid="model-choice"][aria-checked="true"]') === document.activeElement`)
	b.Do(chromedp.Click(chromedp.CSS(id("model-choice") + `[title="mine/small"]`)))
	b.Wait("!(" + at(session) + `) && location.hash.startsWith("#/s/")`)
	b.Wait(`document.querySelector('[data-testid="chip-model"]')?.value === "mine/small"`)
	b.WaitCount(id("prompt-block"), 1)
	b.WaitGone(id("answer"))
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="stop"]').click()`)) // unless the CLI has given up
}

func offersActionsInHeader(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow")
	b.Click(id("session-menu"))
	b.WaitCount(id("menu", "[role=menuitem]"), 8)
	b.Click(id("menu-pin"))
	b.WaitText(".rail-label", "Pinned")
	b.Click(id("session-menu"))
	b.WaitText(id("menu-pin"), "Unpin")
	b.Press(kb.Escape)
	b.Wait(`document.activeElement.dataset.testid === "session-menu"`)
	b.Press("k", kb.ModifierCtrl)
	b.Type(id("palette", "input"), "share session")
	b.Press(kb.Enter)
	b.WaitText(id("share", "h2"), "Share session")
	b.Press(kb.Escape)
	b.WaitGone("dialog")
	b.Click(id("session-menu"))
	b.Click(id("menu-delete"))
	b.Click("dialog[open] .primary")
	b.WaitGone(row(session, "a"))
}

func renamesInHeader(t page) {
	b, _ := t.session(t.TempDir(), "permissions=allow")
	send(b, "say `one`")
	idle(b, 1)
	b.WaitText(id("title"), "say `one`") // by the prompt
	b.Do(chromedp.DoubleClick(chromedp.CSS(id("title"))))
	b.Type(id("title-field"), "Herons")
	b.Press(kb.Escape)
	b.WaitGone(id("title-field"))
	b.WaitText(id("title"), "say `one`")
	b.Press(kb.F2)
	b.Type(id("title-field"), `<i onclick="hit=1">Storks`)
	b.Press(kb.Enter)
	b.WaitGone(id("title-field"))
	b.WaitText(id("title"), `<i onclick="hit=1">Storks`)
	b.WaitText(id("sessions"), `<i onclick="hit=1">Storks`)
	send(b, "say `two`")
	idle(b, 2)
	t.reload(b)
	b.WaitText(id("title"), "Storks") // a title of the user stays
}

func titlesByModel(t page) {
	b := t.open(t.portal.URL)
	pick(b, id("model"), "demo")
	inDirectory(b, t.TempDir())
	send(b, "title `<b>Herons</b> of the lake` and say `one`")
	b.Wait(`location.hash.startsWith("#/s/")`)
	idle(b, 1)
	b.WaitText(id("title"), "<b>Herons</b> of the lake")
	b.WaitText(id("sessions"), "<b>Herons</b> of the lake")
	send(b, "recall")
	idle(b, 2)
	assert.False(t, b.Is(`document.querySelector('[data-testid="conversation"]').innerText.includes("Reply with a title")`), "the question leaves no trace")
	t.reload(b)
	b.WaitText(id("title"), "<b>Herons</b> of the lake")
}

func showsThumbnails(t page) {
	other := t.TempDir()
	name := `"><img src=x onerror=hit=1>.png`
	t.file(other, name, pixel)
	t.file(other, "notes.md", strings.Repeat("word ", 400))
	b, _ := t.session(t.TempDir(), "permissions=ask")
	b.Upload(id("files"), filepath.Join(other, name), filepath.Join(other, "notes.md"))
	b.WaitCount(".attached li", 2)
	send(b, "say `seen`")
	idle(b, 1)
	for range 2 {
		b.WaitText(id("attached"), "notes.md")
		b.WaitText(id("attached"), "2.0 kB")
		b.Wait(`document.querySelector('[data-testid="thumbnail"] img').naturalWidth > 0`)
		b.Click(id("thumbnail"))
		b.WaitText(id("image-dialog"), name)
		b.Wait(`document.querySelector('[data-testid="image-dialog"] > img').naturalWidth > 0`)
		b.Press(kb.Escape)
		b.WaitGone(id("image-dialog"))
		b.Do(chromedp.Reload())
	}
	act(b, id("end"), 0, "retry")
	b.WaitText(id("origin"), "Forked from")
	idle(b, 1)
	b.WaitText(id("attached"), "notes.md") // attachments are sent again
	b.WaitCount(id("thumbnail"), 1)
	assert.False(t, b.Is(`"hit" in globalThis`))
}

func offersActionsOnPhone(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=allow")
	t.portal.Run(session, "say `dipper`")
	b := t.visit(session)
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.WaitText(id("answer"), "dipper")
	large := func(selector string) string {
		return `[...document.querySelectorAll(` + literal(selector) + `)].every((e) => { const r = e.getBoundingClientRect(); return r.width >= 40 && r.height >= 40 && r.right <= innerWidth; })`
	}
	for _, place := range []string{id("prompt-block"), id("end")} {
		b.Wait(`getComputedStyle(document.querySelector(` + literal(place+" .message-actions") + `)).opacity === "1"`)
		b.Wait(large(place + " " + id("more")))
		b.Click(place + " " + id("more"))
		b.WaitText(id("menu"), "Copy")
		b.Wait(large(id("menu") + " button"))
		b.Press(kb.Escape)
		b.WaitGone(id("menu"))
	}
	b.Wait(`document.documentElement.scrollWidth <= innerWidth`)
}

func closesMenuWithButton(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	send(b, "say `hello`")
	idle(b, 1)
	more := id("prompt-block", id("more"))
	b.Click(more)
	b.WaitCount(id("menu"), 1)
	b.Click(more)
	b.WaitCount(id("menu"), 0)
	b.Wait(`document.querySelector(` + literal(more) + `).ariaExpanded === "false"`)
	b.Click(more)
	b.WaitCount(id("menu"), 1)
}

func opensNothingLate(t page) {
	dir := t.git()
	gittest.Run(t.T, dir, "config", "user.name", "Ada")
	gittest.Run(t.T, dir, "config", "user.email", "ada@example.com")
	session, other := t.portal.StartSession(dir, "permissions=allow&interactive=true"), t.portal.StartSession(t.TempDir(), "permissions=ask")
	t.portal.Run(session, "write `new.txt` `new`")
	b := t.openTapped(t.portal.URL+"/#/s/"+session, "")
	b.Wait(there)
	leave := func(method string) {
		b.Do(goTo("#/s/" + other))
		b.Wait(at(other) + ` && document.querySelector('[data-testid="prompt-block"]') === null`)
		b.Do(chromedp.Evaluate[chromedp.Void](`globalThis.awaited = (answered[` + literal(method) + `] ?? 0) + release()`))
		b.Wait(`answered[` + literal(method) + `] === awaited`)
		assert.True(t, b.Is(`document.querySelector("dialog[open], [data-testid=menu]") === null`), "nothing opens over the other session")
		b.Do(goTo("#/s/" + session))
		b.WaitCount(id("prompt-block"), 1)
	}
	b.Click(id("changes-button"))
	b.Do(holds("portal.commit.propose"))
	b.Click(id("commit"))
	leave("portal.commit.propose")
	b.Do(holds("model.list"))
	act(b, id("end"), 0, "retry-model")
	leave("model.list")
}

func copiesWithoutClipboard(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	send(b, "say `one`")
	idle(b, 1)
	b.Is(listen)
	b.Is(withMouse)
	t.hover(b, nth(id("prompt-block"), 0))
	const copyButton = `document.querySelector('[data-testid="prompt-block"] [data-testid="bar-copy"]')`
	b.Wait(copyButton + ` !== null`)
	before := b.Text(copyButton + `.innerHTML`)
	b.Do(chromedp.Evaluate[chromedp.Void](`{ const button = ` + copyButton + `; button.click(); button.click(); }`))
	b.Wait("globalThis.copied === " + literal("say `one`"))
	b.WaitValue(copyButton+`.innerHTML`, func(now string) bool { return now == before }, "the button does not become what it was")

	// As on a page over plain HTTP that is not from localhost.
	b.Is(`(Object.defineProperty(navigator, "clipboard", { configurable: true, value: undefined }),
		document.addEventListener("copy", () => (globalThis.copied = document.activeElement.value)), true)`)
	b.Type(id("prompt"), "say `two`\nand `three`")
	b.Press(kb.Enter)
	idle(b, 2)
	act(b, id("prompt-block"), 1, "copy")
	b.Wait("globalThis.copied === " + literal("say `two`\nand `three`"))
	b.Wait(`document.activeElement.matches('[data-testid="more"]')`) // the focus returns
	assert.True(t, b.Is(`document.querySelector("dialog[open], textarea.copy-source") === null`), "the text is copied")
}

package assets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// row selects within the row of a session.
func row(session, within string) string {
	return fmt.Sprintf(`.row[data-session=%q] %s`, session, within)
}

// menu selects an item of a session's menu.
func menu(b *portaltest.Browser, session, item string) {
	b.Click(row(session, ".row-more"))
	b.Click(id("menu-" + item))
}

// at is true if the address is that of a session.
func at(session string) string { return "(location.hash === " + literal("#/s/"+session) + ")" }

// hit is true once a run of a session is shown with a word highlighted, in sight.
func hit(session, word string) string {
	return fmt.Sprintf(`location.hash.startsWith(%[1]s) && location.hash.endsWith(%[2]s) && document.querySelector(".target") !== null &&
		[...(CSS.highlights.get("hit") ?? [])].some((range) => range.toString() === %[2]s && range.getBoundingClientRect().top > 0 && range.getBoundingClientRect().bottom < innerHeight)`,
		literal("#/s/"+session+"/"), literal(word))
}

// usesQuietList runs the tests of the list of sessions one after another in a portal of their own: rows move, and tabs notify, while other
// tests start sessions.
func usesQuietList(t page) {
	t = t.own()
	for name, look := range map[string]func(page){
		"searches, renames, forks and deletes sessions": managesSessions,
		"opens a search hit far above":                  findsHitFarAbove,
		"pins, archives and filters sessions":           organizesSessions,
		"keeps rows where they are under the pointer":   keepsRowsUnderPointer,
		"notifies":                notifies,
		"exports a session":       exportsSession,
		"fits a phone":            fitsAPhone,
		"says how a search goes":  saysHowSearchGoes,
		"tries again what failed": triesAgain,
		"has a tab order":         func(t page) { checkTabOrder(access{T: t.T, chromium: t.chromium, portal: t.portal}) },
	} {
		t.Run(name, func(sub *testing.T) { look(subpage(sub, t)) })
		t.deletesSessions()
	}
}

// deletesSessions deletes all sessions of the portal.
func (t page) deletesSessions() {
	t.Helper()
	list, _ := t.portal.API("GET", "copilot/session", "")["sessions"].([]any)
	for _, session := range list {
		id, _ := session.(map[string]any)["sessionId"].(string)
		t.portal.API("DELETE", "copilot/session/"+id, "")
	}
}

func managesSessions(t page) {
	p := t.portal
	dir := t.TempDir()
	session := p.StartSession(dir, "permissions=ask")
	for _, prompt := range []string{"say `weir`", "say `zygodactyl`", "say `pond`"} {
		p.Run(session, prompt)
	}
	b := t.open(p.URL)
	b.WaitText(".rail-label", filepath.Base(dir))
	b.WaitText(row(session, ".row-title"), "weir")
	b.Type(id("search"), "zygodactyl") // not in the title
	b.WaitText(".rail-label", "Found in messages")
	b.WaitText(row(session, "mark"), "zygodactyl")
	b.Press(kb.Enter)
	b.Wait(hit(session, "zygodactyl"))
	b.Do(chromedp.Reload())
	b.Wait(hit(session, "zygodactyl"))
	b.Type(id("search"), "nothing of this kind")
	b.WaitText(".rail-empty", "No results.")
	b.Press(kb.Escape)
	b.WaitText(row(session, ".row-title"), "weir")

	second := t.visit(session)
	menu(b, session, "rename")
	b.Type("dialog[open] input", "Birds of the weir")
	b.Press(kb.Enter)
	b.WaitGone("dialog")
	for _, tab := range []*portaltest.Browser{b, second} {
		tab.WaitText(row(session, ".row-title"), "Birds of the weir")
		tab.WaitText(id("title"), "Birds of the weir")
		tab.Wait(`document.title.includes("Birds of the weir")`)
	}

	before := b.Text(shown)
	menu(b, session, "fork")
	b.WaitText(id("title"), "Birds of the weir (fork)") // the address alone may differ because of the hit
	b.Wait(there)
	b.WaitValue(shown, func(copied string) bool { return strings.HasPrefix(copied, before) }, "the fork does not start with the session's text:\n"+before)
	send(b, "say `lake`")
	idle(b, 4)
	second.WaitCount(id("end"), 3) // the fork is independent

	b.Click(row(session, ".row-link"))
	b.Wait(at(session))
	menu(b, session, "delete")
	b.WaitText("dialog[open]", "“Birds of the weir” will be permanently deleted")
	b.Press(kb.Escape)
	b.WaitGone("dialog")
	menu(b, session, "delete")
	b.Click("dialog[open] .primary")
	b.WaitCount(row(session, ""), 0)
	b.WaitText(id("start"), "Examples")
	second.WaitText("main", "This session was deleted.")
	second.WaitCount(row(session, ""), 0)
}

func findsHitFarAbove(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=allow")
	p.Run(session, "say `weir`")
	p.Run(session, "say `the first ptarmigan of the year`")
	for i := range 40 {
		p.Run(session, fmt.Sprintf("run `seq 20` and say `filler %d`", i))
	}
	b := t.open(p.URL)
	b.Type(id("search"), "ptarmigan")
	b.WaitText(row(session, "mark"), "ptarmigan")
	b.Click(row(session, ".row-link"))
	b.Wait(hit(session, "ptarmigan"))
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".session .scroll").scrollTop = 1e6`))
	b.Wait(`!(` + hit(session, "ptarmigan") + `)`)
	b.Click(row(session, ".row-link")) // the address stays the same
	b.Wait(hit(session, "ptarmigan"))
}

func organizesSessions(t page) {
	p := t.portal
	old, dir := p.StartSession(t.TempDir(), "permissions=ask"), t.git()
	p.Run(old, "say `avocet`")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "nest"), 0o700))
	session := p.StartSession(filepath.Join(dir, "nest"), "permissions=ask")
	p.Run(session, "say `bittern`")
	b, other := t.open(p.URL), t.open(p.URL)
	b.WaitText(".rail-label", "heronry")
	b.WaitText(row(session, ".row-detail"), "nest")
	first := `document.querySelector(".rail-label").textContent`
	menu(b, old, "pin")
	for _, tab := range []*portaltest.Browser{b, other} {
		tab.Wait(first + ` === "Pinned" && document.querySelector(".row").dataset.session === ` + literal(old))
	}
	menu(b, old, "archive")
	for _, tab := range []*portaltest.Browser{b, other} {
		tab.WaitCount(row(old, ""), 0)
	}
	b.Click(id("filter"))
	b.Press(kb.ArrowDown)
	b.Press(kb.ArrowUp)
	b.Click(id("filter-menu", `[role="group"]:first-child button:last-child`))
	b.WaitText(".rail-chips .chip", "Archived")
	b.WaitText(row(old, ".row-title"), "avocet")
	b.WaitCount(row(session, ""), 0)
	menu(b, old, "archive")
	b.WaitCount(row(old, ""), 0)
	b.Click(".rail-chips .chip")
	b.Wait(first + ` === "Pinned"`)

	p.API("POST", "copilot/session/"+session+"/query", "run `echo bittern`")
	b.WaitText(row(session, ".row-detail"), "echo bittern")
	b.Wait(fmt.Sprintf(`document.querySelector(%q).dataset.state === "waiting"`, row(session, "")))
}

func keepsRowsUnderPointer(t page) {
	p, dir := t.portal, t.TempDir()
	below, first := p.StartSession(dir, "permissions=ask"), p.StartSession(dir, "permissions=ask")
	p.Run(first, "say `dunlin`")
	b := t.open(p.URL)
	b.WaitText(row(first, ".row-title"), "dunlin")
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => {
		const move = () => document.querySelector(".row").dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
		globalThis.moving = setInterval(move, 50);
		move();
	})()`))
	places := `[...document.querySelectorAll(".row")].map((row) => row.dataset.session + row.offsetTop).join()`
	before := b.Text(places)
	p.API("POST", "copilot/session/"+below+"/query", "run `echo dunlin`")
	b.Wait(`document.title.includes("Waiting for you")`)
	assert.Equal(t, before, b.Text(places))
	gone := p.StartSession(dir, "permissions=ask")
	b.Do(chromedp.Evaluate[chromedp.Void](`clearInterval(moving)`))
	b.WaitCount(row(gone, ""), 1)
	b.Do(chromedp.Evaluate[chromedp.Void](`globalThis.moving = setInterval(() => document.querySelector(".row").dispatchEvent(new PointerEvent("pointermove", { bubbles: true })), 50)`))
	p.API("DELETE", "copilot/session/"+gone, "")
	b.WaitCount(row(gone, ""), 0)
	b.Do(chromedp.Evaluate[chromedp.Void](`clearInterval(moving)`))
	b.WaitText(row(below, ".row-detail"), "echo dunlin")
	b.Wait(`document.querySelector(".row").dataset.session === ` + literal(below))
}

func notifies(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=ask")
	b, other := t.chromium.OpenInProfile(t.T, p.URL), t.chromium.OpenInProfile(t.T, p.URL)
	b.WaitText(row(session, ".row-title"), "Untitled")
	other.WaitText(row(session, ".row-title"), "Untitled")
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => {
		globalThis.notes = [];
		globalThis.Notification = class { static permission = "default"; static asked = 0;
			static requestPermission() { this.asked++; this.permission = "granted"; return Promise.resolve("granted"); }
			constructor(title, options) { notes.push({ title, ...options, note: this }); } close() {} };
	})()`))
	b.Wait(fmt.Sprintf(`document.querySelector(%q).checkVisibility() === false`, id("notify-me")))
	p.API("POST", "copilot/session/"+session+"/query", "run `echo snipe`")
	b.Click(id("notify-me"))
	b.Wait(`Notification.asked === 1 && notes.length === 0`)
	b.WaitGone(id("notify-me") + ":not([hidden] *)")
	const hide = `Object.defineProperty(document, "hidden", { configurable: true, get: () => true }); document.dispatchEvent(new Event("visibilitychange"))`
	ask := func(command string) {
		p.API("POST", "copilot/session/"+session+"/cancel", "")
		b.Wait(fmt.Sprintf(`document.querySelector(%q).dataset.state !== "waiting"`, row(session, "")))
		p.API("POST", "copilot/session/"+session+"/query", "run `echo "+command+"`")
		b.WaitText(row(session, ".row-detail"), "echo "+command)
	}
	b.Do(chromedp.Evaluate[chromedp.Void](hide))
	ask("redshank") // the other tab shows it
	other.Do(chromedp.Evaluate[chromedp.Void](hide))
	ask("snipe")
	b.Wait(`notes.length === 1 && notes[0].body.includes("echo snipe")`)
	b.Do(chromedp.Evaluate[chromedp.Void](`notes[0].note.onclick()`))
	b.Wait(at(session))
}

func exportsSession(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=ask")
	p.Run(session, "say `whimbrel`")
	b := t.open(p.URL)
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => {
		globalThis.files = [];
		const create = URL.createObjectURL;
		URL.createObjectURL = (blob) => { void blob.text().then((text) => files.push(text)); return create(blob); };
		HTMLAnchorElement.prototype.click = function () { globalThis.saved = this.download; };
	})()`))
	menu(b, session, "markdown")
	b.Wait(`files.length === 1 && files[0].includes("whimbrel") && saved.endsWith(".md")`)
	menu(b, session, "json")
	b.Wait(`files.length === 2 && JSON.parse(files[1].split("\n")[0]).id === ` + literal(session) + ` && saved.endsWith(".jsonl")`)
}

func usesKeyboard(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=ask")
	p.Run(session, "say `merganser`")
	b := t.open(p.URL)
	pick(b, id("model"), "demo")
	b.WaitText(row(session, ".row-title"), "merganser")
	palette := func(words string) {
		b.Press("k", kb.ModifierCtrl)
		b.Type(id("palette", "input"), words)
		b.Press(kb.Enter)
		b.WaitGone(id("palette"))
	}
	palette("mergan")
	b.Wait(at(session))
	b.WaitText(id("answer"), "merganser")
	b.Wait(`document.activeElement.matches('[data-testid="prompt"]')`)

	palette("compact")
	b.WaitText(id("compaction"), "Conversation compacted")
	b.Wait(`document.querySelector('[data-testid="status"]').textContent === ""`)
	b.Write(id("prompt"), "say `goosander`?") // in the composer, ? is a character
	b.Press(kb.Enter)
	b.WaitText(id("answer"), "goosander")

	b.Press("n", kb.ModifierAlt)
	b.WaitText(id("start"), "Examples")
	palette("portal status")
	b.WaitText(id("status-page"), "Version")
	b.Press("?")
	b.WaitText(id("help"), "Stop the run")
	b.Press(kb.Escape)
	b.WaitGone(id("help"))

	palette("search sess")
	b.Wait(`document.activeElement.matches('[data-testid="search"]')`)
	b.Press("g")
	b.Write(id("search"), "oosander")
	b.WaitText(row(session, ""), "")
	b.Press(kb.ArrowDown)
	b.Wait(`document.activeElement.matches(".row-link")`)
	b.Press(kb.Enter)
	b.Wait(at(session))
	b.WaitText(id("answer"), "merganser")

	b.Is(withMouse) // on touch, the link is in a menu
	b.Click(id("prompt-block") + " .anchor")
	b.Wait(`location.hash.split("/").length === 4 && document.querySelector(".target") !== null`) // every prompt has a link
	b.Do(chromedp.Reload())
	b.WaitText(".target", "merganser")
}

// pressed dispatches a key to an element, and returns whether the page has handled it.
const pressed = `((selector, key) => !document.querySelector(selector).dispatchEvent(new KeyboardEvent("keydown", {bubbles: true, cancelable: true, ...key})))`

func leavesTypedKeysAlone(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	prompt := literal(id("prompt"))
	assert.False(t, b.Is(pressed+`(`+prompt+`, {key: "Dead", code: "KeyN", altKey: true})`), "Option+N types a tilde")
	b.Press("k", kb.ModifierCtrl)
	b.Type(id("palette", "input"), "settings")
	input := literal(id("palette", "input"))
	assert.False(t, b.Is(pressed+`(`+input+`, {key: "Enter", isComposing: true})`), "it ends a composition")
	b.Press(kb.Escape)
	b.Wait(at(session))
	assert.True(t, b.Is(pressed+`(`+prompt+`, {key: "n", code: "KeyN", altKey: true})`))
	b.WaitText(id("start"), "Examples")
}

func fitsAPhone(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=ask")
	p.Run(session, "say `dipper`")
	b := t.open(p.URL)
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	pick(b, id("model"), "demo")
	inView := func(selector string) string {
		return fmt.Sprintf(`((box) => box.width > 0 && box.left >= 0 && box.right <= innerWidth)(document.querySelector(%s).getBoundingClientRect())`, literal(selector))
	}
	b.Wait("!" + inView("#rail"))
	b.Wait(`document.documentElement.scrollWidth <= innerWidth`)
	b.Click(id("rail-toggle"))
	b.Wait(inView("#rail") + ` && document.querySelector('[data-testid="rail-toggle"]').ariaExpanded === "true"`)
	b.Click(row(session, ".row-link"))
	b.Wait(at(session))
	b.Wait("!" + inView("#rail"))
	b.WaitText(id("answer"), "dipper")
	b.Wait(fmt.Sprintf(inSight, id("prompt")))
	b.Wait(`document.documentElement.scrollWidth <= innerWidth`)
	b.Click(id("side-toggle"))
	b.WaitText(id("side-usage"), "tokens")
	b.Wait(inView(id("side")))
	b.Wait(`document.querySelector('[data-testid="side"]').offsetWidth === innerWidth`) // over the conversation, not beside it
	b.Wait(`document.querySelector(".box").offsetWidth > innerWidth - 40`)
	b.Press(kb.Escape)
	b.WaitGone(id("side"))
	b.Click(id("side-toggle"))
	b.Wait(inView(id("side")))
	b.Do(chromedp.MouseClickXY(40, 120)) // on the dimmed area
	b.WaitGone(id("side"))
	b.Type(id("prompt"), "run `echo dipper`")
	b.Press(kb.Enter) // starts a line
	assert.Equal(t, "run `echo dipper`\n", b.Text(written))
	b.Click(id("send"))
	b.WaitText(id("question"), "echo dipper")
	b.Wait(fmt.Sprintf(inSight, id("allow")))
	b.Click(id("allow"))
	idle(b, 2)
}

func showsStatus(t page) {
	p := t.portal
	p.StartSession(t.TempDir(), "permissions=ask")
	b := t.open(p.URL)
	b.Click(id("settings-link"))
	b.Click(id("status-link"))
	b.WaitText(id("status-page"), "Version")
	for _, part := range []string{
		"Copilot CLI", "Sessions", "Permissions", "copilot login", "mine", p.DataDir(), "Refresh to check.",
		"MCP servers", "desk", "gone", "Skills",
	} {
		b.WaitText(id("status-page"), part)
	}
	b.Click(id("refresh"))
	b.WaitText(id("status-page"), "not signed in")
	b.WaitText(id("refresh"), "Refresh")
	b.Wait(`document.title.endsWith("Status – Copilot Portal")`)
}

func stopsFromOwnViewOnly(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	send(b, "wait 600 s")
	b.WaitText(id("status"), "Working")
	b.WaitCount(row(session, ".row-link"), 1)
	stop := `document.querySelector('[data-testid="stop"]')`
	for _, beside := range []string{row(session, ".row-link"), id("search"), id("new-session")} {
		b.Is(`(document.querySelector(` + literal(beside) + `).focus(), true)`)
		b.Press(kb.Escape)
		assert.False(t, b.Is(stop+`.disabled`), "the run is not stopped from %s", beside)
	}
	b.Is(`(document.activeElement.blur(), true)`)
	b.Press(kb.Escape)
	idle(b, 1)
	b.WaitText(id("end"), "Stopped")
}

func saysHowSearchGoes(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=ask")
	for _, prompt := range []string{"say `weir`", "say `bunting`", "say `pond`"} {
		t.portal.Run(session, prompt)
	}
	b := t.openTapped(t.portal.URL, "")
	b.WaitText(row(session, ".row-title"), "weir")
	b.Do(failsOnce("portal.sessions.search"))
	b.Type(id("search"), "bunting")
	b.WaitText(".rail-label", "Can't search messages: The disk is full.")
	b.Do(holds("portal.sessions.search"))
	b.Type(id("search"), "buntin")
	b.WaitText(".rail-label", "Searching messages…")
	assert.True(t, b.Is(`document.querySelector(".rail-empty") === null`), "it does not say that there is nothing")
	b.Do(released)
	b.WaitText(".rail-label", "Found in messages")
	b.WaitText(row(session, "mark"), "bunting")

	b.Do(holds("portal.sessions.search"))
	b.Type(id("search"), "bunting")
	b.WaitText(".rail-label", "Searching messages…")
	b.WaitCount(row(session, "mark"), 1) // what was found before stays
	b.Press(kb.Enter)
	assert.NotContains(t, b.Text(`location.hash`), session, "but Enter does not open it")
	b.Do(released)
	b.WaitText(".rail-label", "Found in messages")
	b.Press(kb.Enter)
	b.Wait(hit(session, "bunting"))
}

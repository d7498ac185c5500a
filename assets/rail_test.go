package assets_test

import (
	"fmt"
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// row selects within the row of a session.
func row(session, within string) string {
	return fmt.Sprintf(`.row[data-session=%q] %s`, session, within)
}

// menu selects an item of a session's menu.
func menu(b *portaltest.Browser, session string, item int) {
	b.Click(row(session, ".row-more"))
	b.Click(fmt.Sprintf(`.menu button:nth-child(%d)`, item))
}

// at is true if the address is that of a session.
func at(session string) string { return "(location.hash === " + literal("#/s/"+session) + ")" }

func managesSessions(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=ask")
	for _, prompt := range []string{"say `weir`", "say `zygodactyl`", "say `pond`"} {
		p.Run(session, prompt)
	}
	b := t.open(p.URL)
	b.WaitText(".rail-label", "Today")
	b.WaitText(row(session, ".row-title"), "weir")
	b.Type(id("search"), "zygodactyl") // not in the title
	b.WaitText(".rail-label", "Found in messages")
	b.WaitText(row(session, "mark"), "zygodactyl")
	b.Press(kb.Enter)
	b.Wait(at(session))
	b.WaitText(id("answer"), "pond")
	b.Type(id("search"), "nothing of this kind")
	b.WaitText(".rail-empty", "No results.")
	b.Press(kb.Escape)
	b.WaitText(row(session, ".row-title"), "weir")

	second := t.visit(session)
	menu(b, session, 1)
	b.Type("dialog[open] input", "Birds of the weir")
	b.Press(kb.Enter)
	b.WaitGone("dialog")
	for _, tab := range []*portaltest.Browser{b, second} {
		tab.WaitText(row(session, ".row-title"), "Birds of the weir")
		tab.WaitText(id("title"), "Birds of the weir")
		tab.Wait(`document.title.includes("Birds of the weir")`)
	}

	before := b.Text(shown)
	menu(b, session, 2)
	b.Wait("!" + at(session))
	b.Wait(there)
	b.WaitValue(shown, func(copied string) bool { return strings.HasPrefix(copied, before) }, "the fork does not start with the session's text:\n"+before)
	send(b, "say `lake`")
	idle(b, 4)
	second.WaitCount(id("end"), 3) // the fork is independent

	b.Click(row(session, ".row-link"))
	b.Wait(at(session))
	menu(b, session, 3)
	b.WaitText("dialog[open]", "“Birds of the weir” will be permanently deleted")
	b.Press(kb.Escape)
	b.WaitGone("dialog")
	menu(b, session, 3)
	b.Click("dialog[open] .primary")
	b.WaitCount(row(session, ""), 0)
	b.WaitText(id("start"), "Examples")
	second.WaitText("main", "This session was deleted.")
	second.WaitCount(row(session, ""), 0)
}

func usesKeyboard(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=ask")
	p.Run(session, "say `merganser`")
	b := t.open(p.URL)
	b.Click(`.model:has(input[value="demo"])`)
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

	b.Click(id("prompt-block") + " .anchor")
	b.Wait(`location.hash.split("/").length === 4 && document.querySelector(".target") !== null`) // every prompt has a link
	b.Do(chromedp.Reload())
	b.WaitText(".target", "merganser")
}

func fitsAPhone(t page) {
	p := t.portal
	session := p.StartSession(t.TempDir(), "permissions=ask")
	p.Run(session, "say `dipper`")
	b := t.open(p.URL)
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.Click(`.model:has(input[value="demo"])`)
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
	assert.True(t, b.Is(fmt.Sprintf(inSight, id("prompt"))))
	b.Wait(`document.documentElement.scrollWidth <= innerWidth`)
	b.Click(id("side-toggle"))
	b.WaitText(id("side-usage"), "tokens")
	b.Wait(inView(id("side")))
	b.Press(kb.Escape)
	b.WaitGone(id("side"))
	send(b, "run `echo dipper`")
	b.WaitText(id("question"), "echo dipper")
	assert.True(t, b.Is(fmt.Sprintf(inSight, id("allow"))))
	b.Click(id("allow"))
	idle(b, 2)
}

func showsStatus(t page) {
	p := t.portal
	p.StartSession(t.TempDir(), "permissions=ask")
	b := t.open(p.URL)
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

package assets_test

import (
	"strings"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// queued is the queue as it is shown.
const queued = `[...document.querySelectorAll('[data-testid="queue"] .waiting-text')].map((text) => text.textContent).join("|")`

func changesQueue(t page) {
	dir := t.TempDir()
	b, session := t.session(dir, "permissions=allow")
	other := t.visit(session)
	both := func(want ...string) {
		t.Helper()
		for _, tab := range []*portaltest.Browser{b, other} {
			tab.Wait(queued + " === " + literal(strings.Join(want, "|")))
		}
	}
	of := func(row int, action string) string {
		return id("queue", "li:nth-child("+string(rune('0'+row))+")", id("queue-"+action))
	}
	send(b, lasting("one"))
	b.WaitText(id("tool"), "Running")
	for _, text := range []string{"say `a`", "say `b`", "say `c`", "say `d`"} {
		send(b, text)
		b.WaitText(id("queue"), text)
	}
	both("say `a`", "say `b`", "say `c`", "say `d`")
	b.Click(of(4, "up"))
	both("say `a`", "say `b`", "say `d`", "say `c`")
	b.Wait(`document.activeElement.dataset.testid === "queue-up"`) // once the portal has answered, the button can have the focus again
	b.Press(kb.Enter)
	both("say `a`", "say `d`", "say `b`", "say `c`")
	other.Click(of(1, "down"))
	both("say `d`", "say `a`", "say `b`", "say `c`")

	other.Click(of(2, "edit"))
	other.Wait(`document.querySelector(` + literal(of(2, "text")) + `).value === "say ` + "`a`" + `"`)
	other.Type(of(2, "text"), "say `A`")
	other.Press(kb.Escape) // keeps what was typed, and the run
	other.Press(kb.Enter)
	both("say `d`", "say `A`", "say `b`", "say `c`")
	b.Click(of(4, "remove"))
	both("say `d`", "say `A`", "say `b`")
	b.Do(chromedp.Reload())
	b.Wait(there)
	both("say `d`", "say `A`", "say `b`")

	b.Click(of(3, "edit")) // the prompt leaves the queue meanwhile
	b.Wait(`document.querySelector(` + literal(of(3, "text")) + `).value !== ""`)
	b.Type(of(3, "text"), "say `kept`")
	other.Click(of(3, "send"))
	b.Wait(written + " === \"say `kept`\"")
	t.file(dir, "one", "")
	both()
	for _, tab := range []*portaltest.Browser{b, other} {
		idle(tab, 4) // the removed one has ended, too
		tab.WaitText(".prompt.steers", "say `b`")
		prompts := tab.Text(`[...document.querySelectorAll('[data-testid="prompt-block"]')].map((block) => block.innerText.match(/say .[a-zA-Z]./)?.[0] ?? "").join("|")`)
		assert.Equal(t, "|say `b`|say `d`|say `A`|say `c`", prompts)
	}
}

package assets_test

import (
	"syscall"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// far is a prompt whose answer has more deltas than the page loads at once. farText
// is in the answer by then.
const (
	far     = "1500 tokens in 8 s and wait 600 s"
	farText = "w900 "
)

// checkWholeText checks that the answer has every word from the first on, without a gap,
// in this tab after a reload and in another one.
func checkWholeText(t page, p *portaltest.Portal, b *portaltest.Browser, session string) {
	t.Helper()
	second := t.open(p.URL + "/#/s/" + session)
	second.Outages()
	second.Wait(there)
	b.Do(chromedp.Reload())
	b.Wait(there)
	for _, tab := range []*portaltest.Browser{b, second} {
		tab.WaitText(id("answer"), farText)
		said := tab.Text(saying)
		assert.Regexp(t, `^w1 w2 w3 .* w900 `, said)
		assert.True(t, len(said) <= len(words(1500)) && said == words(1500)[:len(said)], "every word occurs once: %.80q", said)
		tab.WaitCount(id("answer"), 1)
		tab.WaitCount(id("prompt-block"), 1)
	}
}

func joinsLate(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	send(b, far)
	b.WaitText(id("answer"), farText)
	checkWholeText(t, t.portal, b, session)
	b.WaitText(id("answer"), "w1500")
	assert.Equal(t, words(1500), b.Text(saying))
	b.Click(id("stop"))
	idle(b, 1)
}

func showsStoppedText(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	send(b, far)
	b.WaitText(id("answer"), farText)
	b.Press(kb.Escape)
	idle(b, 1)
	b.WaitText(id("end"), "Stopped")
	checkWholeText(t, t.portal, b, session)
	t.reload(b)
}

func showsCrashedText(t page) {
	p := startPortal(t, portaltest.Options{Args: []string{"--demo"}})
	session := p.StartSession(t.TempDir(), "permissions=ask")
	b := t.open(p.URL + "/#/s/" + session)
	b.Wait(there)
	send(b, far)
	b.WaitText(id("answer"), farText)
	agents := p.Agents()
	require.Len(t, agents, 1)
	require.NoError(t, syscall.Kill(agents[0].PID, syscall.SIGKILL))
	idle(b, 1)
	b.WaitText(id("end"), "Failed")
	checkWholeText(t, p, b, session)
}

// isBetween reports whether the steering prompt is between the texts before and after
// it.
const isBetween = `(() => {
	const blocks = [...document.querySelectorAll('[data-testid="prompt-block"], [data-testid="answer"]')].filter((block) => !block.hidden).map((block) => block.textContent.trim());
	const added = blocks.findIndex((text) => text.includes("egret"));
	return blocks[0].includes("500 tokens") && blocks[1].startsWith("w1 w2") && added >= 2;
})()`

func showsSteeringPrompt(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow")
	send(b, "500 tokens in 4 s then "+lasting("heron"))
	b.WaitText(id("answer"), "w400 ")
	b.Type(id("prompt"), "say `egret`")
	b.Press(kb.Enter, kb.ModifierCtrl)
	b.WaitText(".prompt.steers", "egret")
	b.Wait(isBetween)
	for _, tab := range []*portaltest.Browser{b, t.visit(session)} {
		tab.Do(chromedp.Reload())
		tab.Wait(there)
		tab.WaitText(".prompt.steers", "egret")
		tab.WaitCount(".prompt.steers", 1)
		tab.Wait(isBetween)
	}
	idle(b, 1)
}

func showsAttachments(t page) {
	other := t.TempDir()
	t.file(other, "notes.md", "words of the notes")
	t.file(other, "pixel.png", pixel)
	b := t.open(t.portal.URL)
	pick(b, id("model"), "demo")
	inDirectory(b, t.TempDir())
	b.Type(id("prompt"), "show request")
	b.Upload(id("files"), other+"/notes.md", other+"/pixel.png")
	b.WaitCount(".attached li", 2)
	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	b.Press(kb.Enter)
	b.Wait(there)
	session := b.Text(`location.hash.split("/").at(-1)`)
	for _, tab := range []*portaltest.Browser{b, t.visit(session)} {
		tab.WaitText(id("prompt-block")+" "+id("attached"), "notes.md")
		tab.Wait(`document.querySelector('[data-testid="attached"] img').naturalWidth > 0`)
	}
	b.Do(chromedp.Reload())
	b.WaitText(id("prompt-block")+" "+id("attached"), "notes.md")
	b.Wait(`document.querySelector('[data-testid="attached"] img').naturalWidth > 0`)
}

package assets_test

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// goTo opens another address of the page.
func goTo(b *portaltest.Browser, hash string) {
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = ` + literal(hash)))
}

// loseResponse breaks the connection when the response to the next prompt arrives, and drops it.
func loseResponse(b *portaltest.Browser) {
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => {
		const send = WebSocket.prototype.send;
		WebSocket.prototype.send = function (text) {
			send.call(this, text);
			const { id, method } = JSON.parse(text);
			if (method !== "run.start") return;
			WebSocket.prototype.send = send;
			this.onmessage = ({ data }) => void (JSON.parse(data).id === id && this.close());
		};
	})()`))
}

func returnsUnsentPrompt(t page) {
	first, second := t.portal.StartSession(t.TempDir(), "permissions=ask"), t.portal.StartSession(t.TempDir(), "permissions=ask")
	wire := t.portal.Proxy()
	b := t.open(wire.URL() + "/#/s/" + first)
	b.Outages()
	b.Wait(there)
	b.Is(paste)
	b.WaitText(".attached", "pasted.txt")
	wire.Pause()
	send(b, "say `heron`")
	b.WaitText(id("queue", "li"), "Sending…")
	goTo(b, "#/s/"+second)
	b.WaitGone(id("queue", "li"))
	goTo(b, "#/s/"+first)
	b.WaitText(id("queue", "li"), "Sending…") // it is still being sent
	b.Type(id("prompt"), "say `stork`")
	require.Positive(t, wire.Drop())
	b.Wait(written + " === \"say `heron`\\n\\nsay `stork`\"")
	b.WaitText(".attached", "pasted.txt")
	b.WaitCount(id("queue", "li"), 0)
	wire.Heal()
	b.Wait(`document.querySelector('[data-testid="problem"]').textContent === ""`)
	b.Wait(written + " === \"say `heron`\\n\\nsay `stork`\"") // the portal does not have it

	wire.Pause()
	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	b.Press(kb.Enter)
	b.WaitText(id("queue", "li"), "Sending…")
	goTo(b, "#/settings")
	b.Wait(`document.querySelector('[data-testid="settings"]') !== null`)
	require.Positive(t, wire.Drop())
	b.WaitText("dialog[open]", "Could not send the prompt")
	wire.Heal()
	b.Press(kb.Escape)
	goTo(b, "#/s/"+first)
	b.Wait(there)
	b.Wait(written + " === \"say `heron`\\n\\nsay `stork`\"")
	b.WaitText(".attached", "pasted.txt")
	b.Wait(`!document.querySelector('[data-testid="send"]').disabled`)
	b.Click(id("send"))
	idle(b, 1)
	b.WaitCount(id("prompt-block"), 1)
}

func sendsPromptOnce(t page) {
	dir := t.TempDir()
	b, _ := t.session(dir, "permissions=allow")
	b.Outages()
	b.Is(paste)
	b.WaitText(".attached", "pasted.txt")
	loseResponse(b)
	send(b, "say `heron`")
	idle(b, 1)
	b.Wait(written + ` === ""`) // it has arrived
	b.WaitGone(".attached")
	assert.Empty(t, b.Text(`document.querySelector('[data-testid="problem"]').textContent`))

	send(b, lasting("one"))
	b.WaitText(id("tool"), "Running")
	loseResponse(b)
	send(b, "say `stork`")
	b.WaitCount(id("queue", id("queue-remove")), 1)
	b.Wait(written + ` === ""`)
	t.file(dir, "one", "")
	idle(b, 3)
	b.WaitCount(id("prompt-block"), 3)

	goTo(b, "#/")
	pick(b, id("model"), "demo")
	inDirectory(b, dir)
	b.Type(id("prompt"), "say `egret`")
	loseResponse(b)
	b.Press(kb.Enter)
	idle(b, 1)
	assert.Equal(t, "#/s/", b.Text(`location.hash.slice(0, 4)`))
	b.WaitText(id("answer"), "egret")
	b.WaitCount(id("prompt-block"), 1)
	goTo(b, "#/")
	b.Wait(`document.querySelector('[data-testid="start"]') !== null && ` + written + ` === ""`)
}

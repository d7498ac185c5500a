package assets_test

import (
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

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
	b.Do(goTo("#/s/" + second))
	b.WaitGone(id("queue", "li"))
	b.Do(goTo("#/s/" + first))
	b.WaitText(id("queue", "li"), "Sending…") // it is still being sent
	b.Type(id("prompt"), "say `stork`")
	require.Positive(t, wire.Drop())
	b.Wait(written + " === \"say `heron`\\n\\nsay `stork`\"")
	b.WaitText(".attached", "pasted.txt")
	b.WaitCount(id("queue", "li"), 0)
	wire.Heal()
	b.Wait(`document.querySelector('[data-testid="problem"]').textContent === ""`)
	b.Wait(`!document.querySelector('[data-testid="send"]').disabled`) // the session is attached again
	b.Wait(written + " === \"say `heron`\\n\\nsay `stork`\"")          // the portal does not have it

	wire.Pause()
	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	b.Press(kb.Enter)
	b.WaitText(id("queue", "li"), "Sending…")
	b.Do(goTo("#/settings"))
	b.Wait(`document.querySelector('[data-testid="settings"]') !== null`)
	require.Positive(t, wire.Drop())
	b.WaitText("dialog[open]", "Could not send the prompt")
	wire.Heal()
	b.Press(kb.Escape)
	b.Do(goTo("#/s/" + first))
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

	b.Do(goTo("#/"))
	pick(b, id("model"), "demo")
	inDirectory(b, dir)
	b.Type(id("prompt"), "say `egret`")
	loseResponse(b)
	b.Press(kb.Enter)
	idle(b, 1)
	assert.Equal(t, "#/s/", b.Text(`location.hash.slice(0, 4)`))
	b.WaitText(id("answer"), "egret")
	b.WaitCount(id("prompt-block"), 1)
	b.Do(goTo("#/"))
	b.Wait(`document.querySelector('[data-testid="start"]') !== null && ` + written + ` === ""`)
}

// chosen is what a new session starts with, without the directory.
const chosen = `["model", "mode", "permissions"].map((name) => document.querySelector("[data-testid=" + name + "]")?.value).join()`

func keepsChoicesOfDraft(t page) {
	first, second := t.TempDir(), t.TempDir()
	b := t.open(t.portal.URL + "/#/?directory=" + first)
	in := func(dir string) {
		t.Helper()
		b.Wait(`document.querySelector("#directory")?.value === ` + literal(dir))
	}
	pick(b, id("model"), "demo")
	pick(b, id("mode"), "autopilot")
	pick(b, id("permissions"), "edits")
	b.Type(id("prompt"), "say `heron`")
	b.Do(goTo("#/settings"))
	b.Click(id("new-session"))
	in(first)
	b.Wait(chosen + ` === "demo,autopilot,edits"`)
	b.Wait(written + " === \"say `heron`\"")

	inDirectory(b, second)
	pick(b, id("permissions"), "all")
	b.Do(chromedp.Reload())
	in(second)
	b.Wait(chosen + ` === "demo,autopilot,all"`)
	b.Do(goTo("#/?directory=" + first)) // an address that names one
	in(first)
	b.Wait(chosen + ` === "demo,autopilot,all"`)
	inDirectory(b, second)
	b.Do(chromedp.Reload())
	in(second)

	b.Wait(chosen + ` === "demo,autopilot,all"`)
	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	b.Press(kb.Enter)
	idle(b, 1)
	assert.Equal(t, "autopilot", b.Text(`document.querySelector('[data-testid="chip-mode"]').value`), "the session goes on in its mode")
	b.Click(id("new-session"))
	b.Wait(chosen + ` === "demo,interactive,all"`) // those of the next session
}

func keepsModeOfSession(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	other := t.portal.StartSession(t.TempDir(), "permissions=ask")
	mode := func(of, want string) {
		t.Helper()
		b.Wait(there + ` && location.hash.endsWith(` + literal(of) + `) && document.querySelector('[data-testid="chip-mode"]').value === ` + literal(want))
	}
	pick(b, id("chip-mode"), "plan")
	b.Do(goTo("#/s/" + other))
	mode(other, "interactive")
	b.Do(goTo("#/s/" + session))
	mode(session, "plan")
	b.Do(chromedp.Reload())
	mode(session, "plan")
	send(b, "Build a nest")
	b.WaitText(id("question"), "Approve this plan?")
}

func addsExamples(t page) {
	b := t.open(t.portal.URL)
	pick(b, id("model"), "demo")
	example := func(n string) { t.Helper(); b.Click(".examples li:nth-child(" + n + ") button") }
	example("1")
	b.Wait(written + ` === "think, then show markdown"`)
	example("2")
	b.Wait(written + " === \"run `git status` and say `done`\"") // one replaces another
	b.Type(id("prompt"), "Look at this first.")
	example("1")
	b.Wait(written + ` === "Look at this first.\n\nthink, then show markdown"`)
}

// sendAtOnce writes a prompt that ends with a mention, and sends it in the same moment.
const sendAtOnce = `((field) => {
	field.focus();
	field.value = "explain @heron.md";
	field.dispatchEvent(new Event("input", { bubbles: true }));
	field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
})(document.querySelector('[data-testid="prompt"]'))`

func closesCompletion(t page) {
	dir := t.TempDir()
	t.file(dir, "heron.md", "words")
	b, _ := t.session(dir, "permissions=ask")
	closed := `document.querySelector('[data-testid="completion"]').hidden`
	b.Do(chromedp.Evaluate[chromedp.Void](sendAtOnce)) // before the files have arrived
	idle(b, 1)
	assert.True(t, b.Is(closed), "nothing is offered for an empty box")

	b.Type(id("prompt"), "hello @her")
	b.WaitText(id("completion", "[role=option]"), "heron.md")
	b.Press(kb.Home)
	b.Wait(closed)
	b.Press(kb.Tab)
	assert.Equal(t, "hello @her", b.Text(written))
	b.Type(id("prompt"), "hello @her")
	b.WaitText(id("completion", "[role=option]"), "heron.md")
	b.Press(kb.ArrowDown)
	b.Press(kb.Tab)
	b.Wait(written + ` === "hello @heron.md "`)
}

func keepsTextAboutInterface(t page) {
	wire := t.portal.Proxy()
	b := t.open(wire.URL() + "/#/interfaces")
	b.Outages()
	desktop(b)
	text, _ := herons(t.T, "Herons", "Where herons are.")
	makes(b, "herons.json", text)
	b.Wait(shownInFrame)
	b.Type(id("prompt"), "Make it compact")
	b.Do(chromedp.Reload())
	b.Wait(shownInFrame)
	b.Wait(written + ` === "Make it compact"`)

	wire.Pause()
	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	b.Press(kb.Enter)
	b.Wait(written + ` === ""`)
	b.Type(id("prompt"), "and dark")
	assert.True(t, b.Is(`document.querySelector('[data-testid="send"]').disabled`), "one change at a time")
	require.Positive(t, wire.Drop())
	b.Wait(written + ` === "Make it compact\n\nand dark"`)
	b.WaitText(id("problem"), "Can't reach the portal.")
	wire.Heal()
	b.Wait(`!document.querySelector('[data-testid="send"]').disabled`)
	b.Click(id("send"))
	b.WaitCount(id("versions", "> li"), 2)
	b.Wait(written + ` === ""`)
}

// valueOf is an expression for the text of a field; undefined if it is not shown.
func valueOf(field string) string { return `document.querySelector(` + literal(id(field)) + `)?.value` }

func keepsWhatIsWritten(t page) {
	session, other := t.portal.StartSession(t.TempDir(), "permissions=ask"), t.portal.StartSession(t.TempDir(), "permissions=ask")
	wire := t.portal.Proxy()
	b := t.open(wire.URL() + "/#/s/" + session)
	b.Outages()
	b.Wait(there)
	send(b, "say `one`")
	idle(b, 1)
	act(b, id("prompt-block"), 0, "edit")
	b.Type(id("edit-text"), "say `two`")
	t.portal.Query(session, "ask `What is it called?`")
	b.WaitText(id("question"), "What is it called?")
	b.Type(id("answer-text"), "heron")
	b.Type(id("prompt"), "say `later`")
	b.Press(kb.Enter)
	b.Click(id("queue-edit"))
	b.Wait(valueOf("queue-text") + " === \"say `later`\"")
	b.Type(id("queue-text"), "say `sooner`")

	b.Do(goTo("#/s/" + other))
	b.WaitGone(id("question"))
	b.Do(goTo("#/s/" + session))
	b.Wait(valueOf("answer-text") + ` === "heron"`)
	b.Do(chromedp.Reload())
	b.Wait(valueOf("answer-text") + ` === "heron"`)
	act(b, id("prompt-block"), 0, "edit")
	b.Wait(valueOf("edit-text") + " === \"say `two`\"")
	b.Click(id("queue-edit"))
	b.Wait(valueOf("queue-text") + " === \"say `sooner`\"")
	b.Click(id("queue-save"))
	b.WaitText(id("queue"), "sooner")

	wire.Sever()
	b.WaitText(id("offline")+":not([hidden])", "Can't reach the portal.")
	b.Click(id("answer") + ":is(button)")
	b.WaitText(id("question"), "Your answer is sent when it reconnects and this session is shown.")
	b.Do(goTo("#/settings"))
	b.WaitGone(id("question"))
	b.Do(goTo("#/s/" + session))
	wire.Heal()
	idle(b, 3)
	b.WaitText(id("answer"), "heron") // the answer was sent
	b.WaitText(id("answer"), "sooner")

	other = "[...document.querySelectorAll('[data-testid=\"choice\"]')].find((choice) => choice.textContent.includes('Something else'))"
	t.portal.Query(session, "ask `What else?` choices `stork` `egret`")
	b.Wait(other + "?.click() === undefined && " + valueOf("answer-text") + " === ''")
	b.Type(id("answer-text"), "ibis")
	b.Do(chromedp.Reload())
	b.Wait(other + "?.click() === undefined && " + valueOf("answer-text") + ` === "ibis"`)
	b.Click(id("answer") + ":is(button)")
	idle(b, 4)
	b.WaitText(id("answer"), "ibis")
}

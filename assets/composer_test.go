package assets_test

import (
	"fmt"
	"net/http"
	"path/filepath"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// lasting is a prompt of the demo model that runs until a file exists.
func lasting(file string) string {
	return fmt.Sprintf("run `while [ ! -e %s ]; do sleep 0.05; done; echo %s-came`", file, file)
}

// written is the text of the composer.
const written = `document.querySelector('[data-testid="prompt"]').value`

func queuesAndSteers(t page) {
	dir := t.TempDir()
	b, session := t.session(dir, "permissions=allow")
	other := t.visit(session)
	send(b, lasting("one"))
	b.WaitText(id("tool"), "Running")
	b.Type(id("prompt"), "say `second`")
	b.WaitText(id("send"), "Queue")
	b.Press(kb.Enter)
	b.WaitText(id("queue", "li"), "say `second`")
	other.WaitText(id("queue", "li"), "say `second`")
	send(b, "say `third`")
	b.WaitCount(id("queue", id("queue-remove")), 2)
	other.WaitCount(id("queue", id("queue-remove")), 2)
	other.Click(id("queue", "li:nth-child(2)", id("queue-remove")))
	b.WaitCount(id("queue", "li"), 1)
	b.Do(chromedp.Reload())
	b.WaitText(id("queue", "li"), "say `second`")
	t.file(dir, "one", "")
	idle(b, 3) // the cancelled one has ended, too
	b.WaitCount(id("queue", "li"), 0)
	b.WaitCount(id("prompt-block"), 3)
	b.WaitCount(id("end")+`[data-status="cancelled"]`, 1)
	b.WaitText(id("answer"), "one-came")
	b.WaitText(id("answer"), "second")

	send(b, lasting("two"))
	b.WaitText(id("tool"), "Running")
	b.Type(id("prompt"), "say `steered`")
	b.WaitText(".keys", "Ctrl+Enter to steer")
	b.Press(kb.Enter, kb.ModifierCtrl)
	b.Wait(written + ` === ""`)
	b.WaitText(".prompt.steers", "say `steered`")
	idle(b, 4)
	b.WaitText(id("answer"), "steered")
	t.file(dir, "two", "") // the command continues in the background; its end starts a run of the agent's own
	b.WaitText(id("answer"), "Noted.")
	idle(b, 4)
	t.reload(b)

	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	for _, step := range [][2]string{
		{kb.ArrowUp, "say `steered`"},
		{kb.ArrowUp, lasting("two")},
		{kb.ArrowUp, "say `third`"},
		{kb.ArrowUp, "say `second`"},
		{kb.ArrowDown, "say `third`"},
		{kb.ArrowDown, lasting("two")},
		{kb.ArrowDown, "say `steered`"},
		{kb.ArrowDown, ""},
	} {
		b.Press(step[0])
		assert.Equal(t, step[1], b.Text(written))
	}

	send(b, "wait 600 s")
	b.WaitText(id("status"), "Working")
	b.Press(kb.Escape)
	idle(b, 5)
	b.WaitCount(id("end")+`[data-status="cancelled"]`, 2)
	b.WaitGone(id("stop"))
}

const pixel = "\x89PNG\r\n\x1a\n" + "\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\xdac\xfc\xcf\xc0\xf0\x1f\x00\x05\x05\x02\x00_\xc8\xf1\xd2\x00\x00\x00\x00IEND\xaeB`\x82"

// paste pastes a file into the composer.
const paste = `(() => {
	const data = new DataTransfer();
	data.items.add(new File(["pasted words"], "pasted.txt", {type: "text/plain"}));
	document.querySelector('[data-testid="prompt"]').dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
	return true;
})()`

func attachesFiles(t page) {
	dir, other := t.TempDir(), t.TempDir()
	t.file(dir, "src/heron.go", "package heron\n")
	t.file(dir, "src/stork.go", "package stork\n")
	t.file(other, "notes.md", "words of the notes")
	t.file(other, "pixel.png", pixel)
	t.file(other, "program", "\x00\x01\x02")
	b, _ := t.session(dir, "permissions=ask")

	b.Type(id("prompt"), "show request of @hrn")
	b.WaitText(id("completion", "[role=option]"), "heron.go")
	b.WaitCount(id("completion", "[role=option]"), 1)
	b.Press(kb.Enter)
	b.Wait(written + ` === "show request of @src/heron.go "`)
	b.Is(paste)
	b.WaitText(".attached", "pasted.txt")
	var files []string
	for _, name := range []string{"notes.md", "pixel.png", "program"} {
		files = append(files, filepath.Join(other, name))
	}
	b.Upload(id("files"), files...)
	b.WaitText(".attached", "pixel.png")
	b.WaitText(id("problem"), "program is not a text or image file.")
	b.WaitCount(".attached li", 3)
	b.Click(id("settings-link"))
	b.Do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.WaitCount(".attached li", 3)
	b.Click(`.attached button[aria-label="Remove pixel.png"]`)
	b.WaitCount(".attached li", 2)
	b.Upload(id("files"), files[1:2]...)
	b.WaitCount(".attached li", 3)
	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	b.Press(kb.Enter)
	idle(b, 1)
	for _, part := range []string{"show request of @src/heron.go", "heron.go", "notes.md", "pasted.txt"} {
		b.WaitText(id("answer"), part)
	}
	b.WaitGone(".attached")
	b.WaitText(id("prompt-block"), "show request of @src/heron.go")
}

func changesSettings(t page) {
	dir := t.TempDir()
	b, session := t.session(dir, "permissions=ask")
	other := t.visit(session)
	send(b, "say `first`")
	idle(b, 1)

	pick(b, id("chip-permissions"), "all")
	other.Wait(`document.querySelector('[data-testid="chip-permissions"]').value === "all"`)
	send(b, "run `touch free.txt`")
	idle(b, 2)
	assert.FileExists(t, filepath.Join(dir, "free.txt"))
	pick(b, id("chip-permissions"), "ask")
	send(b, "run `touch asked.txt`")
	b.WaitText(id("question"), "touch asked.txt")
	b.Click(id("refuse"))
	idle(b, 3)

	pick(b, id("chip-mode"), "plan")
	send(b, "Build a nest")
	b.WaitText(id("question"), "Approve this plan?")
	b.Click(id("refuse"))
	idle(b, 4)

	pick(b, id("chip-model"), "mine/small")
	for _, tab := range []*portaltest.Browser{b, other} {
		tab.Wait(`document.querySelector('[data-testid="chip-model"]').value === "mine/small"`)
	}
	b.Do(chromedp.Reload())
	b.Wait(there)
	b.Wait(`document.querySelector('[data-testid="chip-model"]').value === "mine/small"`)
	b.Wait(`document.querySelector('[data-testid="chip-permissions"]').value === "ask"`)
}

func continuesClosedSession(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	send(b, "say `first`")
	idle(b, 1)
	status, answer := t.portal.Do(http.MethodPost, "/api/copilot/session/"+session+"/stop", "")
	require.Equal(t, http.StatusOK, status, answer)
	b.WaitText(id("status"), "Closed")
	b.Do(chromedp.Reload())
	b.WaitText(id("status"), "Closed")
	send(b, "say `second`")
	idle(b, 2)
	b.WaitText(id("answer"), "second")
	send(b, "say `third`")
	idle(b, 3)
	b.WaitCount(id("prompt-block"), 3)
	b.WaitCount(id("answer"), 3)
	t.reload(b)
}

func followsReopenedSession(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	path := "copilot/session/" + session
	t.portal.Run(session, "say `first`")
	idle(b, 1)
	t.portal.API("POST", path+"/stop", "")
	b.WaitText(id("status"), "Closed")
	t.portal.API("POST", path+"/resume", "")
	b.Wait(`document.querySelector('[data-testid="status"]').textContent === ""`)
	t.portal.Run(session, "say `second`")
	idle(b, 2)
	b.WaitText(id("answer"), "second")
	t.reload(b)
}

// pasteTwo pastes a large image and, before it is read, a small text.
const pasteTwo = `(() => {
	for (const file of [new File([new Uint8Array(8 << 20)], "large.png", {type: "image/png"}), new File(["words"], "small.txt", {type: "text/plain"})]) {
		const data = new DataTransfer();
		data.items.add(file);
		document.querySelector('[data-testid="prompt"]').dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true, cancelable: true}));
	}
	return document.querySelector('[data-testid="send"]').disabled;
})()`

func waitsForAttachments(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	b.Type(id("prompt"), "say `hello`")
	assert.True(t, b.Is(pasteTwo), "nothing is sent while files are read")
	b.WaitCount(".attached li", 2)
	b.Wait(`!document.querySelector('[data-testid="send"]').disabled`)
}

func keepsPromptInView(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	b.Do(chromedp.EmulateViewport(1000, 600))
	send(b, "wait 600 s")
	b.WaitText(id("status"), "Working")
	for i := range 16 {
		send(b, fmt.Sprintf("say `%d`", i))
	}
	b.WaitCount(id("queue", id("queue-remove")), 16)
	b.Wait(fmt.Sprintf(inSight, id("prompt")))
	assert.True(t, b.Is(`document.querySelector(".scroll").clientHeight > 100`), "the conversation has room")
	b.Click(id("stop"))
}

package assets_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// unfold opens the first fold of a block.
func unfold(b *portaltest.Browser, selector string) { b.Click(selector + " summary") }

func showsReasoningAndText(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	t.portal.Query(session, "think about `herons`, say `One two` and wait 600 s")
	b.WaitText(".reasoning summary", "Thought") // complete, since text follows
	b.WaitText(id("answer")+`[aria-busy="true"]`, "One two")
	b.WaitText(id("status"), "Working")
	b.Click(id("stop"))
	idle(b, 1)
	b.WaitText(id("end"), "Stopped")

	send(b, "think, then show markdown")
	idle(b, 2)
	for _, part := range []string{"h2, h3", "ul > li", "ol > li", "table th", ".code-box pre.code span[class]", "blockquote", `a[href^="https:"][rel~="noreferrer"]`} {
		assert.True(t, b.Is(`document.querySelector(`+literal(id("answer")+" :is("+part+")")+`) !== null`), part)
	}
	b.WaitText(".code-tools", "Copy")
	assert.False(t, b.Is(`document.querySelector(".reasoning").open`), "reasoning is folded")
	unfold(b, ".reasoning")
	b.WaitText(".reasoning .thought", "herons")
	b.Wait(`/^\d.* s · [\d.]+k tokens$/.test([...document.querySelectorAll('[data-testid="end"]')].at(-1).textContent)`)
	t.reload(b)
}

func showsRunningTools(t page) {
	dir := t.TempDir()
	b, session := t.session(dir, "permissions=allow")
	t.portal.Query(session, "run `printf '\\033[31mfirst\\033[0m\\n'; while [ ! -e go ]; do sleep 0.05; done; echo second`")
	b.WaitText(`.tool[data-state="running"] .tail [class^="term-fg"]`, "first")
	b.WaitText(`.tool[data-state="running"] summary`, "Running")
	t.file(dir, "go", "")
	idle(b, 1)
	b.WaitText(`.tool[data-state="completed"] summary`, "Ran")
	b.WaitGone(".tool .tail")
	assert.Regexp(t, `^Ran printf .* \d.* s$`, b.Text(`document.querySelector(".tool summary").innerText.replaceAll("\n", " ")`))
	unfold(b, id("tool"))
	b.WaitText(id("tool-body"), "while [ ! -e go ]")
	b.WaitText(id("tool-body"), "second")

	t.reload(b)
}

func showsChangesAndReads(t page) {
	dir := t.TempDir()
	for _, name := range []string{"a.txt", "b.txt", "c.txt"} {
		t.file(dir, name, "of "+name+"\n")
	}
	b, session := t.session(dir, "permissions=ask")
	t.portal.Query(session, "edit `a.txt` `of a.txt` `heron\nstork`")
	b.WaitText(id("question"), "a.txt")
	b.WaitText(id("detail"), "heron")
	b.Wait(`document.querySelector('[data-testid="detail"] :is(.add, .added, ins, .gi, [class*="add"])') !== null`)
	b.Click(id("allow"))
	idle(b, 1)
	b.WaitText(id("tool")+" summary", "Edited")
	b.WaitText(id("tool")+" .changes", "+2 −1")
	b.WaitText(id("side-files"), "a.txt")
	b.WaitText(id("side-files", ".added"), "+2")
	b.WaitText(id("side-files", ".removed"), "−1")
	unfold(b, id("tool"))
	b.WaitText(id("tool-body"), "stork")
	b.WaitText(".diff-hunk", "Line")
	assert.False(t, b.Is(`document.querySelector('[data-testid="tool-body"]').innerText.includes("@@")`))
	content, err := os.ReadFile(filepath.Join(dir, "a.txt"))
	require.NoError(t, err)
	assert.Equal(t, "heron\nstork\n", string(content))

	t.portal.Query(session, "edit `b.txt` `of b.txt` `of b.txt\nheron`")
	b.WaitText(id("question"), "b.txt")
	b.Click(id("allow"))
	idle(b, 2)
	b.WaitCount(id("side-files", "li"), 2)
	b.Wait(`[...document.querySelectorAll('[data-testid="side-files"] li')].every((line) => {
		const ends = [...line.querySelectorAll("span")].filter((count) => count.textContent).map((count) => count.getBoundingClientRect().right);
		return ends.length > 0 && Math.abs(Math.max(...ends) - line.getBoundingClientRect().right) < 1;
	})`) // the counts end at the same place

	send(b, "read `a.txt`, read `b.txt`, read `c.txt`")
	idle(b, 3)
	b.WaitText(".reads > summary", "Read")
	b.WaitText(".reads > summary", "3 files")
	b.WaitText(".reads > summary", "a.txt, b.txt, c.txt")
	b.Click(".reads > summary")
	b.WaitCount(".reads .reads-list > .tool", 3)
	t.reload(b)
	b.WaitText(id("side-files", ".added"), "+2")
	require.NoError(t, os.Remove(filepath.Join(dir, "a.txt")))
	require.NoError(t, os.Remove(filepath.Join(dir, "b.txt")))
	send(b, "say `gone`")
	idle(b, 4)
	b.WaitGone(id("side-files")) // files that no longer exist are not listed
}

func showsSubAgent(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow")
	t.portal.Query(session, "call `task` ``{\"agent_type\":\"general-purpose\",\"name\":\"scout\",\"description\":\"look around\",\"prompt\":\"run `echo helped`\",\"mode\":\"sync\"}``")
	idle(b, 1)
	b.WaitText(id("tool")+":not(.nested) summary", "Delegated")
	b.WaitText(id("tool")+":not(.nested) summary", "look around")
	b.WaitText(id("tool")+".nested summary", "echo helped")
	b.WaitText(".reasoning.nested", "The script is done.")
	t.reload(b)
}

func showsTodos(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow")
	t.portal.Query(session, "plan `Build the nest` `Lay eggs` and wait 600 s")
	for _, todo := range []string{"Build the nest", "Lay eggs"} {
		b.WaitText(id("side-plan", `li[data-state="completed"]`), todo)
	}
	b.WaitText(id("side-usage"), "tokens")
	b.Do(chromedp.Reload())
	b.WaitText(id("side-plan", `li[data-state="completed"]`), "Lay eggs")
	b.Click(id("side-toggle"))
	b.WaitGone(id("side"))
	b.Do(chromedp.Reload())
	b.Wait(there)
	b.WaitGone(id("side")) // also after a reload
	b.Click(id("side-toggle"))
	b.WaitText(id("side-plan"), "Lay eggs")
	b.Wait(`!document.querySelector('[data-testid="stop"]').hidden`)
	b.Click(id("stop"))
	idle(b, 1)
}

func showsErrors(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	send(b, "fail")
	idle(b, 1)
	b.WaitText(id("error"), "400")
	b.WaitCount(id("error"), 1)
	t.reload(b)
	b.Click(id("error") + " " + id("retry"))
	idle(b, 2)
	b.WaitCount(id("prompt-block"), 2)
	b.WaitCount(id("error"), 2)
	b.WaitText(id("end"), "Failed")
}

func retriesWithAttachments(t page) {
	dir, other := t.TempDir(), t.TempDir()
	t.file(other, "pixel.png", pixel)
	b, session := t.session(dir, "permissions=ask")
	b.Type(id("prompt"), "fail")
	b.Upload(id("files"), filepath.Join(other, "pixel.png"))
	b.WaitText(".attached", "pixel.png")
	b.Click(id("send"))
	idle(b, 1)
	b.WaitCount(id("prompt-block", "img"), 1)
	b.Wait(`(() => {
		const button = document.querySelector('[data-testid="retry"]');
		button.click();
		button.click();
		return true;
	})()`)
	idle(b, 2)
	b.WaitCount(id("prompt-block", "img"), 2)
	b.WaitCount(id("prompt-block"), 2)

	b.Is(paste)
	b.WaitText(".attached", "pasted.txt")
	send(b, "fail")
	idle(b, 3)
	b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('[data-testid="retry"]')].at(-1).click()`))
	b.Wait(`location.hash !== "#/s/` + session + `" && ` + there) // only the portal has the pasted text
	idle(b, 3)
	b.WaitText(id("prompt-block"), "pasted.txt")
}

func showsFailedOutput(t page) {
	dir := t.TempDir()
	b, _ := t.session(dir, "permissions=allow")
	send(b, "run `echo first; while [ ! -e go ]; do sleep 0.05; done; echo last words; exit 3`")
	b.WaitText(`.tool[data-state="running"] .tail`, "first")
	t.file(dir, "go", "")
	idle(b, 1)
	b.WaitText(`.tool[data-state="error"] .tail`, "last words")
	assert.Empty(t, b.Text(`document.querySelector(".tail .rest").textContent`), "what streamed is gone")
}

func showsOldErrorsOnce(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	send(b, "fail")
	idle(b, 1)
	for i := range 7 {
		send(b, fmt.Sprintf("say `%d`", i))
		idle(b, 2+i)
	}
	b.WaitCount(id("error"), 1)
	b.Do(chromedp.Reload())
	idle(b, 8)
	b.WaitCount(id("error"), 1)
}

// flood gives the page more items of a run than it keeps, in parts: items that stream are drawn between them.
const flood = `for (let i = 0; i < 5600; i++) {
	const meta = { session_id: location.hash.split("/")[2], id: "m" + i, time: 1 };
	inject({ method: "agent.event", params: { run_id: "unknown", seq: i, event: { type: "text", content: "word " + i, timestamp: 1 }, meta } });
}`

func loadsDropped(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=ask")
	t.portal.Run(session, "say `weir`")
	b := t.openTapped(t.portal.URL+"/#/s/"+session, "")
	b.Wait(there)
	b.WaitText(id("answer"), "weir")
	b.Do(chromedp.Evaluate[chromedp.Void](flood))
	b.WaitText(id("conversation"), "word 5599")
	b.WaitCount(id("prompt-block"), 0) // it was dropped
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="earlier"]:not([hidden])').click()`))
	b.WaitText(id("prompt-block"), "weir")
	assert.False(t, b.Is(`document.querySelector('[data-testid="conversation"]').textContent.includes("word")`), "the state is that of the portal")
	b.WaitText(id("missing")+":not([hidden])", "This run is no longer available.") // the portal does not know the first one
	send(b, "say `pond`")
	idle(b, 2)
	b.WaitGone(id("missing"))
}

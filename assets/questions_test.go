package assets_test

import (
	"path/filepath"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// proposal is a prompt that makes the demo model propose a plan.
const proposal = "call `exit_plan_mode` `{\"summary\":\"# Do it\\n- first\",\"actions\":[\"autopilot\",\"interactive\"],\"recommendedAction\":\"interactive\"}`"

// asked waits for a question that has the focus.
func asked(b *portaltest.Browser, text string) {
	b.WaitText(id("question"), text)
	b.Wait(`document.activeElement.matches('[data-testid="question"]')`)
}

const noQuestion = `document.querySelector('[data-testid="question"]') === null`

// answered is true once the page has taken an answer. Another key would be meant for it, but would reach the prompt if the question is gone by then.
const answered = `(` + noQuestion + ` || document.querySelector('[data-testid="question"] .answers').disabled)`

// allowForSession allows with the narrowest rule that is remembered.
func allowForSession(b *portaltest.Browser) {
	b.Click(id("scopes"))
	b.Click(id("allow-session"))
}

func answersByKeys(t page) {
	dir := t.TempDir()
	b, _ := t.session(dir, "permissions=ask")
	send(b, "run `touch allowed.txt`")
	asked(b, "touch allowed.txt")
	b.WaitText(id("detail"), "touch allowed.txt")
	b.WaitText(id("question"), "The agent needs your permission")
	b.WaitText(id("tool"), "waiting for you")
	b.Wait(`/^\(\d+\) Waiting for you: run /.test(document.title) && document.querySelector("#icon").href.endsWith("/favicon-waiting.svg")`)
	b.WaitText(id("sessions", `[data-state="waiting"]`), "Waiting for you")
	b.PressUntil(kb.Enter, answered)
	idle(b, 1)
	assert.FileExists(t, filepath.Join(dir, "allowed.txt"))
	b.Wait(`document.activeElement.matches('[data-testid="prompt"]')`)

	send(b, "run `touch refused.txt`")
	asked(b, "touch refused.txt")
	b.Type(id("reason"), "not here")
	b.PressUntil(kb.Escape, answered)
	idle(b, 2)
	b.WaitText(id("answer"), "not here")
	b.WaitText(id("tool"), "denied")

	send(b, "run `touch refused.txt`")
	asked(b, "touch refused.txt")
	b.PressUntil(kb.Escape, answered)
	idle(b, 3)
	assert.NoFileExists(t, filepath.Join(dir, "refused.txt"))
	b.WaitGone(id("stop"))

	send(b, "run `touch one.txt`")
	asked(b, "touch one.txt")
	allowForSession(b)
	idle(b, 4)
	send(b, "run `touch one.txt`")
	idle(b, 5) // without a question

	send(b, "run `touch two.txt`") // the narrowest scope is this exact command
	asked(b, "touch two.txt")
	b.PressUntil("2", answered) // the second way to allow
	idle(b, 6)
	assert.FileExists(t, filepath.Join(dir, "two.txt"))
	t.reload(b)
}

// keepsRunAfterRefusal stops the clock of the page, because Escape stops the run again a second after a question closed.
func keepsRunAfterRefusal(t page) {
	dir := t.TempDir()
	b, session := t.session(dir, "permissions=ask")
	const goesOn = `document.querySelector('[data-testid="stop"]').checkVisibility() && !document.querySelector('[data-testid="stop"]').disabled`
	stopClock := chromedp.Evaluate[chromedp.Void](`((now) => void (performance.now = () => now))(performance.now())`)
	goOn := chromedp.Evaluate[chromedp.Void](`((now, later) => void (performance.now = () => now.call(performance) + later))(Performance.prototype.now, globalThis.later = (globalThis.later ?? 0) + 10_000)`)
	ask := func() {
		send(b, "run `touch heron.txt` and wait 600 s")
		asked(b, "touch heron.txt")
		b.Do(goOn, stopClock) // past the delay in which keys answer nothing
	}
	stop := func(runs int) {
		b.Press(kb.Escape)
		idle(b, runs)
		b.WaitText(id("end"), "Stopped")
	}

	ask()
	b.Press(kb.Escape)
	b.Wait(noQuestion)
	b.Press(kb.Escape) // pressed twice to deny
	assert.True(t, b.Is(goesOn), "the second Escape was meant for the question")
	b.Do(goOn)
	stop(1)
	assert.NoFileExists(t, filepath.Join(dir, "heron.txt"))

	ask()
	other := t.visit(session)
	other.Click(id("refuse"))
	b.WaitText(".answered", "touch heron.txt")
	b.Press(kb.Escape)
	assert.True(t, b.Is(goesOn), "Escape was meant for the question that another client answered")
	other.Close()
	b.Do(goOn)
	stop(2)

	ask()
	b.Press(kb.Enter)
	b.Wait(noQuestion)
	stop(3) // at once: what was allowed was a mistake
}

func remembersWiderScope(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	send(b, "run `touch one.txt`")
	asked(b, "touch one.txt")
	b.WaitText(id("allow")+".primary", "Allow once")
	assert.True(t, b.Is(hidden(id("menu"))), "wider scopes are in a menu")
	b.Click(id("scopes"))
	b.WaitText(id("allow-session"), "this exact command")
	b.WaitText(id("allow-scope-commands"), "all commands")
	b.WaitText(id("allow-scope-program"), "touch *")
	b.PressUntil(kb.Escape, `document.querySelector('[data-testid="menu"]') === null && document.activeElement.matches('[data-testid="scopes"]')`)
	assert.False(t, b.Is(noQuestion), "Escape closes the menu only")
	b.Click(id("scopes"))
	b.Click(id("allow-scope-program"))
	idle(b, 1)
	send(b, "run `touch two.txt`")
	idle(b, 2) // without a question
	send(b, "run `cat one.txt`")
	asked(b, "cat one.txt")
	b.Click(id("refuse"))
	idle(b, 3)
}

func revokesRemembered(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	b.Wait(hidden(id("side-remembered")))
	for i, name := range []string{"one.txt", "two.txt"} {
		send(b, "run `touch "+name+"`")
		asked(b, "touch "+name)
		allowForSession(b)
		idle(b, i+1)
	}
	b.WaitCount(id("side-remembered", "li"), 2)
	b.WaitText(id("side-remembered", "li"), "exec.run(touch one.txt)")
	other := t.visit(session)
	other.WaitCount(id("side-remembered", "li"), 2) // from the result of attach
	other.Click(id("side-remembered", `li[data-rule="exec.run(touch one.txt)"] button`))
	for _, window := range []*portaltest.Browser{other, b} {
		window.WaitCount(id("side-remembered", "li"), 1)
		window.WaitText(id("side-remembered", "li"), "exec.run(touch two.txt)")
	}
	other.Close()
	send(b, "run `touch one.txt`")
	asked(b, "touch one.txt")
	allowForSession(b)
	idle(b, 3)
	b.Click(id("revoke-all"))
	b.Wait(hidden(id("side-remembered")))
	send(b, "run `touch two.txt`")
	asked(b, "touch two.txt")
	b.Click(id("refuse"))
	idle(b, 4)
}

// hidden is true if no matching element is visible.
func hidden(selector string) string {
	return `[...document.querySelectorAll(` + literal(selector) + `)].every((e) => !e.checkVisibility())`
}

func answersWithText(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	t.portal.Query(session, "ask `Which bird?` choices `heron` `stork`")
	asked(b, "Which bird?")
	b.PressUntil("2", answered)
	idle(b, 1)
	b.WaitText(id("answer"), "stork")

	t.portal.Query(session, "ask `What is it called?`")
	b.WaitText(id("question"), "What is it called?")
	b.Wait(answerHasFocus)
	b.Press("E")
	b.Press("m")
	b.Press("i")
	b.Press("l")
	b.Press(kb.Enter)
	idle(b, 2)
	b.WaitText(id("answer"), "Emil")

	t.portal.Query(session, "ask `And this one?`")
	b.WaitText(id("question"), "And this one?")
	b.Wait(answerHasFocus)
	b.PressUntil(kb.Escape, `document.activeElement.matches('[data-testid="question"]')`)
	b.Press("Z")
	b.Wait(answerHasFocus)
	b.Press("o")
	b.Press(kb.Escape)
	b.Wait(`document.activeElement.matches('[data-testid="question"]')`)
	b.Press(kb.Escape)
	b.Press("e")
	b.Wait(answerHasFocus + ` && document.activeElement.value === "Zoe"`) // Escape discards nothing
	b.Press(kb.Enter)
	idle(b, 3)
	b.WaitText(id("answer"), "Zoe")
	assert.Empty(t, b.Text(`document.querySelector('[data-testid="prompt"]').value`), "nothing was typed into the composer")
}

// answerHasFocus is true if the question's field has the focus.
const answerHasFocus = `document.activeElement.matches('[data-testid="answer-text"]')`

func sharesSession(t page) {
	first, session := t.session(t.TempDir(), "permissions=ask")
	second := t.visit(session)
	for _, b := range []*portaltest.Browser{first, second} {
		b.Do(chromedp.Evaluate[chromedp.Void](collectNotices))
	}
	t.portal.Query(session, "think, then run `echo seen`")
	for _, b := range []*portaltest.Browser{first, second} {
		b.WaitText(id("question"), "echo seen")
		b.WaitText(id("watchers"), "1 other window is watching")
	}
	second.Click(id("allow"))
	first.Wait(noticed("Allowed by another window."))
	first.WaitGone(id("question"))
	for _, b := range []*portaltest.Browser{first, second} {
		b.WaitText(id("answer"), "seen")
		idle(b, 1)
	}
	assert.False(t, second.Is(`document.querySelector(".answered") !== null`), "no notice where it was answered")
	second.WaitValue(shown, func(text string) bool { return text == first.Text(shown) }, "the windows show different texts")
	first.WaitGone(".answered")

	send(first, "run `echo again`")
	second.WaitText(id("question"), "echo again")
	first.Type(id("reason"), "enough")
	first.Click(id("refuse"))
	second.Wait(noticed("Denied by another window. “enough”"))

	t.portal.Query(session, "run `echo thrice`")
	first.WaitText(id("question"), "echo thrice")
	t.portal.API("POST", "copilot/session/"+session+"/cancel", "")
	idle(first, 3)
	first.WaitGone(id("question"))
}

// collectNotices collects what the page says about answers of others, which it shows for a moment.
const collectNotices = `(() => {
	globalThis.notices = "";
	const look = () => document.querySelectorAll(".answered").forEach(({ textContent }) => notices.includes(textContent) || (notices += textContent));
	new MutationObserver(look).observe(document.body, { childList: true, subtree: true });
})()`

// noticed is true once the page has said so.
func noticed(text string) string { return "notices.includes(" + literal(text) + ")" }

func approvesPlan(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	p := t.portal
	propose := func() {
		assert.Empty(t, p.API("POST", "copilot/session/"+session+"/query?mode=plan", proposal))
		b.WaitText(id("question"), "Approve this plan?")
		b.WaitText(id("detail")+" :is(h1, h2, h3)", "Do it")
		b.WaitText(id("detail")+" li", "first")
	}

	propose()
	b.Type(id("reason"), "with tests, please")
	b.Click(id("refuse"))
	b.WaitText(id("answer"), "with tests, please")
	idle(b, 1)

	propose()
	b.WaitText(id("choice"), "on autopilot")
	b.Click(id("choice") + ".primary")
	b.WaitText(id("answer"), "Plan approved")
	idle(b, 2)

	// A plan's markup is text, and its script URL no link.
	p.API("POST", "copilot/session/"+session+"/query?mode=plan", "call `exit_plan_mode` `{\"summary\":\"Hm <img src=x onerror=alert(1)> [here](javascript:alert(1))\"}`")
	b.WaitText(id("detail"), "<img src=x onerror=alert(1)>")
	b.WaitGone(id("detail") + " :is(img, a)")
	b.Click(id("refuse"))
	b.WaitGone(id("question"))
}

func fillsInForm(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow&interactive=true")
	p := t.portal

	p.Query(session, "call `desk-form`")
	b.WaitText(id("question"), "desk asks")
	b.WaitText(id("question"), "Who are you?")
	b.Click(id("submit")) // the browser rejects the missing name
	b.Do(chromedp.Focus(chromedp.CSS(id("question"))))
	b.Press("A") // typing goes to the first field
	b.Write(id("field-name"), "da")
	b.Type(id("field-age"), "36")
	b.Do(chromedp.SendKeys(chromedp.CSS(id("field-color")), "G"), chromedp.SendKeys(chromedp.CSS(id("field-news")), "N"))
	b.Click(id("submit"))
	for _, want := range []string{`"action":"accept"`, `"name":"Ada"`, `"age":36`, `"color":"green"`, `"news":false`} {
		b.WaitText(id("answer"), want)
	}

	p.Query(session, "call `desk-form`")
	b.WaitText(id("question"), "Who are you?")
	b.Click(id("refuse"))
	b.WaitText(id("answer"), `"action":"decline"`)

	p.Query(session, "call `desk-visit`")
	b.WaitText(id("question"), "Sign in there")
	b.WaitText(id("address")+`[href="https://example.com/login"][target="_blank"][rel~="noreferrer"]`, "https://example.com/login")
	b.Click(id("allow"))
	b.WaitGone(id("question"))
	idle(b, 3)
	assert.Contains(t, b.Text(shown), "desk-visit")
}

func namesSubAgentThatAsks(t page) {
	dir := t.TempDir()
	b, session := t.session(dir, "permissions=ask")
	t.portal.Query(session, "call `task` ``{\"agent_type\":\"general-purpose\",\"name\":\"scout\",\"description\":\"look around\",\"prompt\":\"run `touch helped`\",\"mode\":\"sync\"}``")
	b.Wait(`["touch helped", "look around"].some((text) => document.querySelector('[data-testid="question"]')?.textContent.includes(text))`)
	if !b.Is(`document.querySelector('[data-testid="question"]').textContent.includes("touch helped")`) {
		b.Click(id("allow")) // the task itself
	}
	asked(b, "touch helped")
	b.Wait(`/^The sub-agent .* needs your permission$/.test(document.querySelector(".asker").textContent)`)
	b.Wait(`document.querySelector('[data-testid="question"]').ariaLabel.startsWith("The sub-agent ")`)
	b.PressUntil("1", answered)
	idle(b, 1)
	assert.FileExists(t, filepath.Join(dir, "helped"))
}

// indent is the width of the tab in the removed line of a question's diff, in characters.
const indent = `(() => {
	const text = document.querySelector('[data-testid="detail"] .diff-del').firstChild;
	const box = (at) => {
		const range = document.createRange();
		range.setStart(text, at);
		range.setEnd(text, at + 1);
		return range.getBoundingClientRect();
	};
	return String(Math.round((box(2).left - box(1).left) / box(2).width));
})()`

func showsCleanDiff(t page) {
	dir := t.TempDir()
	t.file(dir, "a.go", "func f() {\n\treturn\n}\n")
	b, session := t.session(dir, "permissions=ask")
	t.portal.Query(session, "edit `a.go` `return` `<b>panic</b>(1)`")
	asked(b, "a.go")
	b.Wait(`document.querySelector('[data-testid="detail"]').innerText.includes("\t<b>panic</b>(1)")`)
	for _, header := range []string{"diff --git", "index ", "--- a/", "+++ b/", "@@"} {
		assert.False(t, b.Is(`document.querySelector('[data-testid="detail"]').innerText.includes(`+literal(header)+`)`), header)
	}
	assert.Equal(t, "4", b.Text(indent), "a tab keeps its width behind the number and the sign")
	b.Press("n")
	b.Wait(`document.activeElement.matches('[data-testid="reason"]')`) // typing goes to the reason
	b.Write(id("reason"), "o 1")
	b.Press(kb.Enter)
	idle(b, 1)
	b.WaitText(id("answer"), "no 1")

	t.portal.Query(session, "write `new.go` `package a`")
	asked(b, "Write new.go")
	b.WaitText("#rail .row-detail", "Write new.go")
	b.Wait(`document.querySelector('[data-testid="detail"]').innerText.trim().endsWith("+package a")`)
	assert.False(t, b.Is(`document.querySelector('[data-testid="detail"]').innerText.includes("+++ ")`))
}

func keepsFocusAfterClick(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	send(b, "run `touch one.txt`")
	asked(b, "touch one.txt")
	b.Click(id("allow"))
	idle(b, 1)
	assert.True(t, b.Is(`document.activeElement.matches('[data-testid="prompt"]')`), "the next keys go to the prompt")
}

// birdsForm asks for a name and at least two birds.
const birdsForm = `{"message":"Which birds?","requestedSchema":{"type":"object","required":["name","birds"],"properties":{"name":{"type":"string","title":"Name","minLength":2},"birds":{"type":"array","title":"Birds","minItems":2,"items":{"type":"string","enum":["heron","stork","egret"]}}}}}`

func keepsRejectedForm(t page) {
	b, session := t.session(t.TempDir(), "permissions=allow&interactive=true")
	t.portal.Query(session, "call `desk-form` `"+birdsForm+"`")
	b.WaitText(id("detail"), "Which birds?")
	b.Type(id("field-name"), "😀") // two units for the browser, one character for the portal
	b.Click("label:nth-of-type(1) > " + id("field-check"))
	b.Click(id("submit"))
	b.Wait(`document.querySelector('[data-testid="field-check"]').validationMessage === "At least 2 items are required."`)
	b.WaitText(id("detail"), "Which birds?")
	b.Click("label:nth-of-type(2) > " + id("field-check"))
	for range 2 {
		b.Click(id("submit"))
		b.WaitText(id("detail")+"[role=alert]", "at least 2 characters are required")
		b.WaitText(id("detail"), "Which birds?")
		b.Wait(`!document.querySelector(".answers").disabled`)
		assert.Equal(t, "😀", b.Text(`document.querySelector('[data-testid="field-name"]').value`))
	}
	b.Type(id("field-name"), "Ada")
	b.Click(id("submit"))
	for _, want := range []string{`"name":"Ada"`, `"birds":["heron","stork"]`} {
		b.WaitText(id("answer"), want)
	}

	t.portal.Query(session, "call `desk-form` `"+birdsForm+"`")
	b.WaitText(id("detail"), "Which birds?")
	b.Type(id("field-name"), "😀")
	b.Click("label:nth-of-type(1) > " + id("field-check"))
	b.Click("label:nth-of-type(2) > " + id("field-check"))
	for submits := 1; !b.Is(`document.querySelector('[data-testid="question"]')?.textContent.includes("The portal has stopped asking here. Reload the page to answer.") === true`); submits++ {
		require.Less(t, submits, 50, "the portal asks for ever")
		b.Click(id("submit"))
		b.Wait(`!document.querySelector(".answers").disabled`)
	}
	b.Do(chromedp.Reload())
	b.WaitText(id("question"), "Which birds?")
	assert.Equal(t, "😀", b.Text(`document.querySelector('[data-testid="field-name"]').value`))
	b.Type(id("field-name"), "Eve")
	b.Click(id("submit"))
	b.WaitText(id("answer"), `"name":"Eve"`)
	idle(b, 2)
}

// startsLine presses Enter in a field of several lines, and checks that it starts a line.
func startsLine(b *portaltest.Browser, field string) {
	b.Type(id(field), "one")
	b.Press(kb.Enter)
	b.Wait(`document.querySelector(` + literal(id(field)) + `).value === "one\n"`)
}

func startsLinesOnAPhone(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	t.portal.Query(session, "ask `What is it called?`")
	b.WaitText(id("question"), "What is it called?")
	startsLine(b, "answer-text")
	b.Click(id("answer") + ":is(button)")
	idle(b, 1)
	b.Click(id("prompt-block", id("more")))
	b.Click(id("action-edit"))
	startsLine(b, "edit-text")
	b.Click(id("edit-cancel"))
	b.Wait(at(session))

	t.portal.Query(session, "wait 600 s")
	b.WaitText(id("status"), "Working")
	b.Type(id("prompt"), "say `later`")
	b.Click(id("send"))
	b.Click(id("queue-edit"))
	b.Wait(`document.activeElement.dataset.testid === "queue-text"`)
	startsLine(b, "queue-text")
	b.Press(kb.Enter, kb.ModifierCtrl) // saves it
	b.WaitGone(id("queue-text"))
	b.WaitText(id("queue"), "one")
	b.Click(id("queue-remove"))
	b.Click(id("stop"))
	idle(b, 3)
}

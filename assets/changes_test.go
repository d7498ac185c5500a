package assets_test

import (
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

// twenty is a file with 20 lines.
var twenty = func() string {
	var b strings.Builder
	for i := range 20 {
		b.WriteString("\tline " + string(rune('a'+i)) + "\n")
	}
	return b.String()
}()

// content returns the content of a file, or "none".
func content(t *testing.T, dir, name string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if os.IsNotExist(err) {
		return "none"
	}
	require.NoError(t, err)
	return string(raw)
}

// change selects within a file of the panel of changes.
func change(path, within string) string { return `.change[data-path="` + path + `"] ` + within }

// changedSession lets the agent change files in two runs.
func (t page) changedSession() (dir, session string) {
	t.Helper()
	dir = t.TempDir()
	t.file(dir, "poem.txt", twenty)
	t.file(dir, "old.txt", "old\n")
	session = t.portal.StartSession(dir, "permissions=allow&interactive=true")
	t.portal.Run(session, "edit `poem.txt` `line b` `line B`, edit `poem.txt` `line s` `line S` and write `new.txt` `new\n`")
	t.portal.Run(session, "run `rm old.txt; echo more >> new.txt`")
	return dir, session
}

func reviewsChanges(t page) {
	dir, session := t.changedSession()
	b, second := t.visit(session), t.visit(session)
	b.Do(chromedp.EmulateViewport(1500, 900))
	for _, tab := range []*portaltest.Browser{b, second} {
		tab.WaitText(id("changes-button"), "3 files")
		tab.WaitText(id("changes-button", ".added"), "+4")
		tab.WaitText(id("changes-button", ".removed"), "−3")
	}
	b.Click(id("changes-button"))
	second.Click(id("changes-button"))
	b.Wait(`location.hash.endsWith("?changes") && document.querySelector(".side").contains(document.activeElement)`)
	b.WaitCount(id("changes", ".change"), 3)
	b.WaitText(change("old.txt", ".hidden-text"), "Deleted")
	b.WaitText(change("new.txt", ".change-counts"), "+2")

	b.WaitCount(change("poem.txt", ".hunk"), 2) // all files of a small change unfold
	b.WaitCount(id("changes", ".hunk"), 4)
	for range 5 { // new.txt and its hunk, old.txt and its hunk, poem.txt
		b.Press("j")
	}
	b.Wait(`document.activeElement.matches(` + literal(change("poem.txt", ".change-name")) + `)`)
	b.Press(kb.Enter)
	b.WaitGone(change("poem.txt", ".change-body:not([hidden])"))
	b.Press(kb.Enter)
	b.WaitCount(change("poem.txt", ".hunk"), 2)
	b.WaitText(change("poem.txt", ".diff-add"), "\tline B")
	assert.False(t, b.Is(`/@@|diff --git|index [0-9a-f]/.test(document.querySelector('[data-testid="changes"]').textContent)`), "headers of git are not shown")
	b.Press("j")
	b.Press("j")
	b.Wait(`document.activeElement.ariaLabel === "Lines 16–20"`)
	b.Press("k")
	b.Wait(`document.activeElement.ariaLabel === "Lines 1–5"`)

	b.Click(change("poem.txt", ".hunk .change-act")) // the first hunk
	b.WaitText(id("changes-undo"), "Reverted 1 file")
	assert.Equal(t, strings.ReplaceAll(twenty, "line s", "line S"), content(t.T, dir, "poem.txt"))
	for _, tab := range []*portaltest.Browser{b, second} {
		tab.WaitText(change("poem.txt", ".change-note"), "Edited since")
		tab.WaitText(id("notice"), "Reverted 1 file")
	}
	first := change("poem.txt", ".hunk:first-child")
	for _, tab := range []*portaltest.Browser{b, second} {
		tab.WaitText(first+" .change-note", "Reverted")
	}
	b.Wait(`document.querySelectorAll('[data-path="poem.txt"] .hunk[data-state="present"]').length === 1`)
	second.WaitGone(first + " .change-act")
	b.WaitText(first+" .change-act", "Undo") // where it was reverted
	b.Click(first + " .change-act")
	b.WaitText(id("notice"), "Undo: brought back 1 file")
	b.WaitText(first+" .change-act", "Revert")
	second.WaitText(first+" .change-act", "Revert")
	b.WaitGone(id("changes-undo"))
	assert.Equal(t, strings.NewReplacer("line b", "line B", "line s", "line S").Replace(twenty), content(t.T, dir, "poem.txt"))

	b.Click(change("old.txt", ".change-line .change-act"))
	b.WaitText(change("old.txt", ".change-note"), "Reverted")
	second.WaitText(change("old.txt", ".change-note"), "Reverted")
	assert.Equal(t, "old\n", content(t.T, dir, "old.txt"))
	b.WaitText(id("changes-button"), "2 files")

	t.file(dir, "poem.txt", strings.NewReplacer("line b", "mine", "line s", "line S").Replace(twenty))
	b.Click(id("revert-all"))
	b.WaitText(id("changes-problem"), `"poem.txt"`) // in conflict
	assert.Equal(t, "new\nmore\n", content(t.T, dir, "new.txt"), "nothing was changed")

	b.Do(chromedp.Reload())
	b.Wait(there)
	b.WaitCount(change("poem.txt", ".hunk"), 2)
	b.WaitText(change("old.txt", ".change-note"), "Reverted")
	b.Click(id("side-close"))
	b.WaitGone(id("changes"))
	b.Wait(`!location.hash.includes("?")`)
}

func restoresRun(t page) {
	dir, session := t.changedSession()
	b := t.visit(session)
	b.Do(chromedp.EmulateViewport(1500, 900))
	b.WaitCount(id("review")+":not([hidden])", 2)
	b.WaitText(id("review"), "Review 2 files")
	b.Do(chromedp.Evaluate[chromedp.Void](`[...document.querySelectorAll('[data-testid="review"]')].at(-1).click()`))
	b.Wait(`/\/s\/[^/]+\/[^/]+\?changes$/.test(location.hash)`)
	b.WaitCount(id("changes", ".change"), 2)
	b.WaitText(id("changes-scope")+" option:checked", "Run 2: run `rm old.txt")
	b.Do(chromedp.Reload())
	b.Wait(there)
	b.WaitCount(id("changes", ".change"), 2)
	b.WaitText(id("revert-all"), "Revert run")

	t.portal.Query(session, "wait 600 s")
	b.WaitText(id("status"), "Working")
	b.Click(id("revert-all"))
	b.WaitText(id("changes-problem"), "wait until it has ended")
	b.Click(id("stop"))
	b.WaitText(id("end"), "Stopped")

	b.Click(id("restore"))
	b.WaitText("dialog[open]", "Later changes are overwritten")
	b.Click(`dialog[open] input[value="fork"]`)
	b.Click("dialog[open] .primary")
	b.Wait("!" + at(session) + ` && !location.hash.includes(` + literal(session) + `)`)
	b.Wait(there)
	b.WaitCount(id("end"), 1) // the fork ends before the run
	assert.Equal(t, "old\n", content(t.T, dir, "old.txt"))
	assert.Equal(t, "new\n", content(t.T, dir, "new.txt"))

	b = t.visit(session)
	b.Click(id("changes-button"))
	b.WaitText(id("changes-undo"), "Restored 2 files")
	b.Click(id("undo"))
	b.WaitText(id("notice"), "Undo: brought back 2 files")
	b.WaitGone(id("undo"))
	b.Wait(`document.activeElement.dataset.testid === "changes-scope"`)
	assert.Equal(t, "none", content(t.T, dir, "old.txt"))
	assert.Equal(t, "new\nmore\n", content(t.T, dir, "new.txt"))
	b.Press(kb.Escape)
	b.WaitGone(id("changes"))
	b.Wait(`document.activeElement.dataset.testid === "changes-button"`)
}

func resizesChanges(t page) {
	_, session := t.changedSession()
	b := t.visit(session)
	b.Do(chromedp.EmulateViewport(1700, 900))
	b.Click(id("changes-button"))
	b.WaitCount(change("poem.txt", ".hunk pre"), 2)
	width := func() float64 {
		return evaluate[float64](t.T, b, `document.querySelector(".side").getBoundingClientRect().width`)
	}
	before := width()
	b.Do(chromedp.Focus(chromedp.CSS(id("side-edge"))))
	b.Press(kb.ArrowLeft)
	b.Wait(`document.querySelector('[data-testid="side-edge"]').ariaValueNow > ` + literal("0"))
	assert.InDelta(t, before+40, width(), 2)
	b.Click(id("changes-split"))
	b.WaitCount(change("poem.txt", ".hunk pre"), 4)
	rows := evaluate[[]int](t.T, b, `[...document.querySelectorAll('.change[data-path="poem.txt"] .hunk:first-child pre')].map((pre) => pre.querySelectorAll("code > span[class^=diff]").length)`)
	assert.Equal(t, []int{5, 5}, rows)
	b.Do(chromedp.Reload())
	b.Wait(there)
	b.WaitCount(change("poem.txt", ".hunk pre"), 4)
	assert.InDelta(t, before+40, width(), 2)
	b.Do(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.WaitCount(change("poem.txt", ".hunk pre"), 2) // a phone has one column
	b.Wait(`document.documentElement.scrollWidth <= innerWidth`)
	b.Press(kb.Escape)
	b.WaitGone(id("changes"))
}

// colorsDiffs shows syntax colours, and that text in them stays text.
func colorsDiffs(t page) {
	dir := t.TempDir()
	t.file(dir, "a.go", "package a\n\nfunc a() int {\n\treturn 1\n}\n")
	session := t.portal.StartSession(dir, "permissions=allow&interactive=true")
	t.portal.Run(session, "edit `a.go` `return 1` `return len(\"<i onclick=hit>\") // two` and write `end.go` `package end`")
	b := t.visit(session)
	b.Click(id("changes-button"))
	b.WaitText(change("a.go", ".diff-add .hl-s"), `"<i onclick=hit>"`)
	b.WaitText(change("a.go", ".diff-add .hl-c"), "// two")
	b.WaitText(change("a.go", ".diff-same .hl-k"), "func")
	b.Wait(`document.querySelector(".diff-add").textContent.startsWith("\treturn") && !document.querySelector(".diff i")`)
	b.WaitText(change("end.go", ".diff-add .hl-k"), "package")
	b.WaitText(change("end.go", ".diff-add"), "package end ⌿ no line end")
	b.Click(change("a.go", ".hunk .change-act"))
	b.WaitText(change("a.go", ".change-note"), "Reverted")
	assert.Contains(t, content(t.T, dir, "a.go"), "return 1")
}

func saysWithoutChanges(t page) {
	b, _ := t.session(t.TempDir(), "permissions=ask")
	b.Wait(`document.querySelector('[data-testid="changes-button"]').hidden`)
	b.Press("k", kb.ModifierCtrl)
	b.Type(id("palette", "input"), "review changes")
	b.Press(kb.Enter)
	b.WaitText(id("changes-note"), "Files that the agent changes appear here.")
}

// hostileChanges shows that paths, contents and prompts are text in the panel of changes.
func hostileChanges(t stage) {
	dir := t.TempDir()
	name := `<img src=x onerror=hit=1>` + "\u202egpj.txt"
	require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte("one\ntwo\n"), 0o600))
	id := t.portal.StartSession(dir, "permissions=allow&interactive=true")
	t.portal.Run(id, "edit "+fence(name)+" `two` "+fence(markup+"\n"+turned)+", write "+fence("<svg onload=hit=1>.md")+" "+fence(links)+" and say "+fence(shortMarkup))
	w := t.watch("/#/s/" + id + "?changes")
	w.WaitCount(".change", 2)
	w.Do(chromedp.Evaluate[chromedp.Void](`for (const button of document.querySelectorAll('.change-name[aria-expanded="false"]')) button.click()`))
	for range 2 {
		w.WaitCount(".hunk", 2)
		w.shows(".change-name", `<img src=x onerror=hit=1>‹U+202E›gpj.txt`, `<svg onload=hit=1>.md`)
		w.shows(".hunk", `<script>hit=1;alert(1)</script>`, `<base href="https://evil.example/">`, "user‹U+202E›gnp.exe", "[f](vbscript:hit)")
		w.holds()
		w.Do(chromedp.Reload())
		w.WaitCount(".change", 2)
	}
}

// checkChanges checks the panel of changes, with an unfolded file, and its dialog.
func checkChanges(a access) {
	dir, id := a.TempDir(), portaltest.ID
	require.NoError(a, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("one\ntwo\n"), 0o600))
	session := a.portal.StartSession(dir, "permissions=allow&interactive=true")
	a.portal.Run(session, "edit `a.txt` `two` `2` and write `b.txt` `new`")
	b := a.page("/#/s/" + session + "?changes")
	desktop(b)
	b.WaitText(`.change[data-path="a.txt"] .diff-add`, "2")
	b.Click(`.change[data-path="a.txt"] .hunk .change-act`)
	b.WaitText(id("changes-undo"), "Reverted")
	b.WaitText(".change-note", "Reverted")
	a.checkSizes(b, "changes")
	b.Click(id("review"))
	b.Click(id("restore"))
	b.Wait(`document.querySelector("dialog[open]")`)
	a.check(b, "the dialog that restores files")
}

func keepsPlaceOnBack(t page) {
	_, session := t.changedSession()
	b := t.visit(session)
	b.Do(chromedp.EmulateViewport(1500, 900))
	b.Click(id("changes-button"))
	b.Click(id("revert-all"))
	b.WaitText(id("notice"), "Reverted 3 files")
	b.Do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.Wait(`!location.hash.includes("?")`)
	b.WaitGone(id("changes"))
	assert.True(t, b.Is(`document.querySelector(".target") === null`), "nothing is sought")
}

func refreshesUnfoldedFile(t page) {
	dir := t.TempDir()
	t.file(dir, "poem.txt", twenty)
	b, _ := t.session(dir, "permissions=allow")
	b.Do(chromedp.EmulateViewport(1500, 900))
	send(b, "edit `poem.txt` `line b` `line B`")
	idle(b, 1)
	b.Click(id("changes-button"))
	b.WaitText(change("poem.txt", ".diff-add"), "line B")
	send(b, "edit `poem.txt` `line B` `line X`") // as many lines as before
	idle(b, 2)
	b.WaitText(change("poem.txt", ".diff-add"), "line X")
	b.Click(change("poem.txt", ".hunk .change-act"))
	b.WaitText(id("changes-undo"), "Reverted 1 file")
	assert.Equal(t, twenty, content(t.T, dir, "poem.txt"))
}

// undoesWhileRefreshing shows that buttons do what they say while the panel still loads what became of the files.
func undoesWhileRefreshing(t page) {
	const list, diff = "portal.session.changes", "portal.session.diff"
	dir, session := t.changedSession()
	after := content(t.T, dir, "poem.txt")
	b := t.openTapped(t.portal.URL+"/#/s/"+session, "")
	b.Do(chromedp.EmulateViewport(1500, 900))
	b.Click(id("changes-button"))
	hunk := change("poem.txt", ".hunk:first-child .change-act")
	b.WaitText(hunk, "Revert")

	b.Do(holds(list), keeps(diff), chromedp.Evaluate[chromedp.Void](`globalThis.before = answered["`+diff+`"]`))
	b.Click(change("poem.txt", ".change-name"))
	b.Click(change("poem.txt", ".change-name")) // unfolded again: its lines are loaded again
	b.Wait(`answered["` + diff + `"] > before`)
	b.Click(hunk)
	b.WaitText(id("notice"), "Reverted 1 file")
	b.Do(chromedp.Evaluate[chromedp.Void](`release("` + diff + `")`)) // lines from before the revert
	b.WaitText(hunk, "Undo")
	b.Click(hunk)
	b.WaitText(id("notice"), "Undo: brought back 1 file")
	b.WaitText(hunk, "Revert")
	assert.Equal(t, after, content(t.T, dir, "poem.txt"))
	b.Click(hunk)
	b.WaitCount(id("notice"), 3)
	b.WaitText(hunk, "Undo")
	assert.NotEqual(t, after, content(t.T, dir, "poem.txt"), "it is reverted again")
	b.Do(released)
	b.WaitText(id("changes-undo"), "Reverted 1 file")
	b.WaitText(hunk, "Undo")

	b.Do(holds(list))
	b.Click(id("undo"))
	b.WaitCount(id("notice"), 4)
	b.Click(id("undo")) // it still says what is undone by now
	b.Do(released)
	b.WaitText(hunk, "Revert")
	b.WaitGone(id("changes-undo"))
	assert.Equal(t, after, content(t.T, dir, "poem.txt"))
	assert.Empty(t, b.Text(`document.querySelector('[data-testid="changes-undo"] .change-problem').textContent`))
}

func offersNothingBeforeChangesAreLoaded(t page) {
	_, session := t.changedSession()
	b := t.openTapped(t.portal.URL+"/#/s/"+session+"?changes", `holding.add("portal.session.changes");`)
	b.Wait(there)
	b.WaitText(id("changes-note"), "Loading…")
	b.WaitText(id("changes-scope")+" option:checked", "Whole session")
	b.WaitGone(id("revert-all"))
	b.WaitGone(id("restore"))
	b.WaitGone(id("commit"))
	b.Do(released)
	b.WaitCount(id("changes", ".change"), 3)
	b.WaitText(id("revert-all"), "Revert all")
}

// briefly is a run that begins and ends in one drawn frame.
const briefly = `for (const status of ["running", "completed"]) inject({ method: "run.status", params: { run_id: "brief", status, meta: { session_id: location.hash.split("/")[2] } } })`

func noticesBriefRun(t page) {
	dir := t.TempDir()
	session := t.portal.StartSession(dir, "permissions=allow")
	t.portal.Run(session, "write `heron.txt` `one`")
	b := t.openTapped(t.portal.URL+"/#/s/"+session, "")
	b.WaitText(id("changes-button"), "1 file")
	calls := `["portal.session.changes", "portal.files.missing", "portal.directory.describe"].map((method) => answered[method] ?? 0)`
	b.Wait(calls + `.every((count) => count > 0)`)
	b.Do(chromedp.Evaluate[chromedp.Void](`globalThis.before = ` + calls + `; ` + briefly))
	b.Wait(calls + `.every((count, i) => count > before[i])`)
}

// announcesBriefRun tells screen readers about runs that begin and end in one drawn frame, as those that fail to start.
func announcesBriefRun(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=allow")
	b := t.openTapped(t.portal.URL+"/#/s/"+session, "")
	b.Wait(there)
	b.Do(chromedp.Evaluate[chromedp.Void](`globalThis.heard = [];
		new MutationObserver(() => heard.push(document.querySelector('[data-testid="announcement"]').textContent)).observe(document.querySelector('[data-testid="announcement"]'), { childList: true, characterData: true, subtree: true })`))
	heard := func(texts string) { t.Helper(); b.Wait(`JSON.stringify(heard) === ` + literal(texts)) }
	fails := strings.NewReplacer(`"brief"`, `"failed" + heard.length`, `status,`, `status, message: status === "error" ? "There is no such model." : "",`, `completed`, `error`).Replace(briefly)
	b.Do(chromedp.Evaluate[chromedp.Void](fails))
	heard(`["The run failed: There is no such model."]`)
	b.Do(chromedp.Evaluate[chromedp.Void](fails))
	heard(`["The run failed: There is no such model.","The run failed: There is no such model."]`)
	b.Do(chromedp.Evaluate[chromedp.Void](`heard.length = 0; ` + briefly))
	heard(`["The agent is done."]`)
	next := strings.Replace(briefly, "brief", "next", 1)
	b.Do(chromedp.Evaluate[chromedp.Void](`heard.length = 0; ` + strings.Replace(fails, `heard.length`, `"before"`, 1) + `; ` + strings.Replace(next, `, "completed"`, ``, 1)))
	heard(`["The run failed: There is no such model. The agent is working."]`)
	b.Do(chromedp.Evaluate[chromedp.Void](`heard.length = 0; ` + next))
	heard(`["The agent is done."]`)

	b.Do(chromedp.Evaluate[chromedp.Void](`heard.length = 0`))
	send(b, "wait 600 s")
	heard(`["The agent is working."]`)
	b.Press(kb.Escape)
	heard(`["The agent is working.","The run was stopped."]`)
}

func leavesNoDeadEntries(t page) {
	session := fileSession(t.T, t.portal)
	t.portal.Run(session, "say "+fence(strings.Repeat("heron\n\n", 60)))
	b := t.open(t.portal.URL + "/#/settings")
	b.WaitText("h1", "Settings")
	b.Do(chromedp.EmulateViewport(1500, 900))
	b.Do(goTo("#/s/" + session))
	b.Wait(there)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="prompt-block"] .anchor').click()`))
	b.Wait(`document.querySelector(".target") !== null`)
	withRun := b.Text(`location.hash`)
	const atEnd = `((s) => s.scrollTop > 50 && s.scrollHeight - s.scrollTop - s.clientHeight < 50)(document.querySelector(".session .scroll"))`
	b.Click(id("changes-button")) // by a button
	b.Wait(`location.hash.endsWith("?changes")`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector(".session .scroll").scrollTop = 1e6`))
	b.Wait(atEnd)
	b.Click(id("side-close"))
	b.Wait(`location.hash === ` + literal(withRun))
	b.WaitGone(id("changes"))
	b.Wait(atEnd) // it does not seek the run in the address

	b.Click(id("answer", ".path-link")) // by a link
	b.WaitText(id("file", ".file-path"), "main.go")
	b.Click(id("tab-changes")) // in the same entry
	b.Wait(`location.hash.endsWith("?changes")`)
	b.Press(kb.Escape)
	b.Wait(`location.hash === ` + literal(withRun))

	b.Do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.Wait(at(session))
	b.Do(chromedp.Evaluate[chromedp.Void](`history.back()`))
	b.Wait(`location.hash === "#/settings"`)

	b.Do(goTo("#/s/" + session + "?changes"))
	b.Wait(there)
	b.WaitCount(id("changes", ".change"), 1)
	b.Click(id("side-close")) // the entry before is not that of the session
	b.Wait(at(session))
}

package assets_test

import (
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/git/gittest"
	"github.com/copilot-portal/portal/server/portaltest"
)

// onGitHub starts a portal of its own with a repository in which the agent changed three files, one with a hostile name.
func (t *page) onGitHub() (hub portaltest.GitHub, dir, session string) {
	t.Helper()
	t.portal, hub = portaltest.StartWithGitHub(t, bundled(portaltest.Options{}))
	dir = t.TempDir()
	hub.Clone(t, dir, map[string]string{"poem.txt": "one\ntwo\n", "old.txt": "old\n", "person.txt": "1\n"})
	session = t.portal.StartSession(dir, "permissions=allow&interactive=true")
	t.portal.Run(session, "edit `poem.txt` `two` `2`, write `<img src=x onerror=hit=1>.md` `x` and say message `Improve <i>the</i> poem`")
	t.portal.Run(session, "run `rm old.txt`")
	return hub, dir, session
}

func commitsChanges(t page) {
	hub, dir, session := t.onGitHub()
	b := t.visit(session)
	b.Do(chromedp.EmulateViewport(1500, 900))
	b.Click(id("changes-button"))
	b.WaitCount(id("changes", ".change"), 3)
	b.WaitText(".git", "main · 3 changed")
	gittest.Write(t, dir, "person.txt", "staged\n")
	gittest.Run(t, dir, "add", "person.txt")
	b.Do(chromedp.Focus(chromedp.CSS(id("commit"))))
	b.Press(kb.Enter)
	b.WaitText(id("commit-dialog", "h2"), "Commit to main")
	b.WaitCount(id("commit-dialog", ".commit-file[data-path]"), 3)
	b.WaitText(id("commit-dialog"), "<img src=x onerror=hit=1>.md")
	b.WaitText(id("commit-dialog"), "Author: Ada <ada@example.com>")
	b.WaitText(id("commit-dialog"), "1 file that you staged stays staged.")
	b.WaitText(id("commit-dialog", "[role=status]"), "The model wrote this message.")
	b.Wait(`((message) => message.value === "Improve <i>the</i> poem" && document.activeElement === message && message.selectionStart === 0 && message.selectionEnd === message.value.length)(document.querySelector("dialog textarea"))`)
	b.Click(id("commit-dialog", `[data-path="old.txt"] input`))
	b.WaitText(id("commit-dialog", ".primary"), "Commit 2 files")
	b.Wait(`document.querySelector(".commit-file input").indeterminate`)
	b.Do(chromedp.Focus(chromedp.CSS("dialog textarea")))
	b.Press(kb.Enter, kb.ModifierCtrl)
	b.WaitText(id("committed"), "Committed 2 files to main (")
	b.WaitText(".git", "main · 2 changed")
	assert.Equal(t, "Improve <i>the</i> poem", gittest.Run(t.T, dir, "show", "-s", "--format=%s"))
	assert.Equal(t, "<img src=x onerror=hit=1>.md\npoem.txt", gittest.Run(t.T, dir, "show", "--format=", "--name-only"))
	assert.Equal(t, " D old.txt\nM  person.txt", " "+gittest.Run(t.T, dir, "status", "--porcelain"))
	b.Click(id("pull-request"))
	b.WaitText(id("commit-line", ".change-problem"), "you are on main")

	gittest.Run(t, dir, "switch", "-q", "-c", "topic")
	b.Click(id("pull-request"))
	b.WaitText(id("pull-dialog"), "topic → ada/engine")
	b.Type(id("pull-dialog", "input"), "It's better")
	b.WaitText(id("pull-dialog", ".commit-commands"), `--title 'It'\''s better'`)
	b.WaitText(id("pull-dialog", ".commit-commands"), "https://github.com/ada/engine.git HEAD:refs/heads/topic")
	gittest.Write(t, hub.Home, "fail", "no such <b>base</b>\nline two\n")
	b.Click(id("pull-dialog", ".primary"))
	b.WaitText(id("pull-dialog", ".error-text"), "gh: no such <b>base</b>\nline two")
	require.NoError(t, os.Remove(filepath.Join(hub.Home, "fail")))
	b.Click(id("pull-dialog", ".primary"))
	b.WaitText(id("committed", "a"), "ada/engine/pull/7")
	assert.Contains(t, hub.Args(t), "<It's better>")

	b.Click(id("commit"))
	b.WaitCount(id("commit-dialog", ".commit-file[data-path]"), 1)
	b.Wait(`document.querySelector("dialog textarea").value === "run ` + "`rm old.txt`" + `" || document.querySelector("dialog textarea").value.startsWith("Improve")`)
	b.Press(kb.Escape)
	b.WaitGone(id("commit-dialog"))
	b.Wait(`document.activeElement.dataset.testid === "commit"`)
	gittest.Run(t, dir, "commit", "-q", "-a", "-m", "rest")
	b.Click(id("commit"))
	b.WaitText(id("committed"), "Nothing to commit: the files that the agent changed are committed already")
	gittest.Write(t, dir, "poem.txt", "one\nthree\n")
	gittest.Run(t, dir, "config", "user.name", "")
	b.Click(id("commit"))
	b.WaitText(id("committed"), "Cannot commit: git does not know who you are: run git config --global user.name 'Your Name'")
	assert.True(t, b.Is(`document.querySelector('[data-testid="pull-request"]').hidden`), "it needs a commit")
	assert.False(t, b.Is("Boolean(window.hit)"))
}

// checkCommit checks the dialogs of a commit and a pull request.
func checkCommit(a access) {
	t := page{a.T, a.chromium, a.portal}
	_, dir, session := t.onGitHub()
	gittest.Run(t, dir, "switch", "-q", "-c", "topic")
	b := t.visit(session)
	a.load(b)
	desktop(b)
	b.Click(id("changes-button"))
	b.Click(id("commit"))
	b.WaitText(id("commit-dialog", "[role=status]"), "The model wrote this message.")
	a.checkSizes(b, "the dialog of a commit")
	b.Click(id("commit-dialog", ".primary"))
	b.Click(id("pull-request"))
	b.WaitText(id("pull-dialog"), "topic → ada/engine")
	a.checkSizes(b, "the dialog of a pull request")
}

package assets_test

import (
	"fmt"
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

// fileSession is a session whose agent read, changed and named files.
func fileSession(t *testing.T, p *portaltest.Portal) (session string) {
	t.Helper()
	dir := t.TempDir()
	var long strings.Builder
	for i := range 6000 {
		fmt.Fprintf(&long, "line %d\n", i+1)
	}
	for name, text := range map[string]string{"main.go": "package main\n\n/* a\nb */\nfunc main() {\n\tprintln(\"heron\")\n}\n", "long.txt": long.String(), "bytes": "\x00\x01"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	session = p.StartSession(dir, "permissions=allow&interactive=true")
	p.Run(session, "read `main.go`, edit `main.go` `heron` `egret` and say "+fence("See `main.go:6`, `long.txt:3000`, `gone.go:1` and `../main.go`."))
	return session
}

// targetLine is the number of the line to which the viewer jumped.
const targetLine = `document.querySelector(".file-line.target")?.dataset.number`

func showsFiles(t page) {
	session := fileSession(t.T, t.portal)
	b := t.visit(session)
	b.Do(chromedp.EmulateViewport(1500, 900))
	b.WaitCount(id("answer", ".path-link"), 2) // only files that exist in the directory
	b.Click(id("answer", ".path-link"))
	b.WaitText(id("file", ".file-path"), "main.go")
	b.Wait(targetLine + ` === "6" && document.querySelector(".side").contains(document.activeElement)`)
	b.WaitText(id("file-facts"), "7 lines · ")
	assert.Equal(t, "package main\n\n/* a\nb */\nfunc main() {\n\tprintln(\"egret\")\n}\n", b.Text(`document.querySelector(".file-code").textContent`))
	b.WaitText(".file-code .hl-c", "/* a")
	b.Wait(`location.hash.endsWith("?file=main.go&line=6")`)
	b.Do(chromedp.Reload())
	b.Wait(there)
	b.Wait(targetLine + ` === "6"`)
	b.Click(id("file-changed"))
	b.WaitText(change("main.go", ".diff-add"), "egret")
	b.Click(change("main.go", ".hunk-title"))
	b.Wait(`location.hash.includes("?file=main.go&line=")`)
	b.WaitText(id("file", ".file-path"), "main.go")
	b.Click(id("tab-changes"))
	b.Click(id("change-open"))
	b.Wait(`location.hash.endsWith("?file=main.go")`)

	b.Click(`.text [href$="line=3000"]`)
	b.Wait(targetLine + ` === "3000"`)
	b.WaitText(id("file-facts"), "6,000 lines")
	assert.Less(t, evaluate[int](t.T, b, `document.querySelectorAll(".file-line").length`), 2100, "a window of a large file is loaded")
	b.Wait(`document.activeElement.dataset.testid === "file-body"`)
	b.Press("g")
	b.Wait(`document.activeElement.dataset.testid === "file-jump"`)
	b.Do(chromedp.KeyEvent("5999"))
	b.Press(kb.Enter)
	b.Wait(targetLine + ` === "5999"`)
	b.Wait(`location.hash.endsWith("?file=long.txt&line=5999")`)
	b.Press(kb.Escape)
	b.WaitGone(id("file"))
	b.Wait(`!location.hash.includes("?")`)

	b.Click(id("tool-path")) // of the file that was read
	b.Wait(`location.hash.endsWith("?file=main.go")`)
	assert.True(t, b.Is(`!document.querySelector('[data-testid="tool"] details').open`), "the line does not unfold")
	for path, want := range map[string]string{
		"bytes": "This is a binary file.", "gone.go": `"gone.go" does not exist`, "../x": "is outside of the session's directory", ".": `"." is a directory`,
	} {
		b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = ` + literal("#/s/"+session+"?file="+path)))
		b.WaitText(id("file-note"), want)
	}
}

func checkFiles(a access) {
	session := fileSession(a.T, a.portal)
	b := a.page("/#/s/" + session + "?file=main.go&line=6")
	b.Wait(targetLine + ` === "6"`)
	b.WaitCount(id("answer", ".path-link"), 2)
	a.checkSizes(b, "a file")
}

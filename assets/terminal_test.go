package assets_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// lines is the text in the terminal.
const lines = `[...document.querySelectorAll(".xterm-rows > div")].map((row) => row.textContent.trimEnd()).join("\n")`

// enter types a line into the terminal. DevTools send the characters of keys even if the page handles the keys, so it inserts the text.
func enter(b *portaltest.Browser, line string) {
	b.Do(command(input.InsertText, input.InsertTextParams{Text: line}))
	b.Press(kb.Enter)
}

// hasOutput is true once a text is shown. What was typed before the prompt came stands behind it.
func hasOutput(text string) string { return "(" + lines + ").includes(" + literal(text) + ")" }

func hasTerminal(t page) {
	_, err := os.Stat(filepath.Join("vendor", "xterm.js"))
	require.NoError(t, err, "xterm.js is missing: run make build (make test does it)")
	portal := startPortal(t, portaltest.Options{Args: []string{"--demo", "--terminal"}, Env: []string{"SHELL=/bin/sh", "PS1=$ "}})
	dir := t.TempDir()
	session := portal.StartSession(dir, "permissions=allow&interactive=true")
	a := access{t.T, t.chromium, portal, axeSource(t.T)}
	b := a.page("/#/s/" + session)
	desktop(b)
	b.Wait(there)
	b.Wait(`!performance.getEntriesByType("resource").some(({ name }) => name.includes("xterm"))`)
	b.Click(id("tab-terminal"))
	b.Wait(`document.activeElement.classList.contains("xterm-helper-textarea")`)
	b.Wait(`location.hash.endsWith("?terminal")`)
	enter(b, "echo hi-$((1+1)); pwd -P; echo $$ > pid")
	b.Wait(hasOutput("hi-2"))
	enter(b, `printf '\033[38;2;200;30;30mred\033[0m \033[1mbold\033[0m <img src=x onerror=alert(1)>\n'`)
	b.Wait(`[...document.querySelectorAll(".xterm-rows span")].some((span) => span.textContent.startsWith("red") && span.style.color !== "")`)
	assert.True(t, b.Is(`document.querySelector(".xterm img") === null`), "output is text")
	wide := evaluate[int](t.T, b, `document.querySelector(".xterm-rows").children.length`)
	a.checkSizes(b, "a terminal")
	b.Do(chromedp.EmulateViewport(1280, 500))
	b.Wait(`document.querySelector(".xterm-rows").children.length < ` + strconv.Itoa(wide))
	b.Click(id("terminal-screen"))
	enter(b, "while sleep 0.2; do clear; stty size; done") // the size may change in steps
	b.Wait(`(` + lines + `).includes(document.querySelector(".xterm-rows").children.length + " ")`)
	b.Press("c", kb.ModifierCtrl)

	begin := time.Now()
	enter(b, "clear; yes | head -c 50000000; echo all-$((1+1))")
	b.Wait(`[...document.querySelectorAll(".xterm-rows > div")].filter((row) => row.textContent.trim() === "y").length > 3`) // before that, the shell would get the interrupt
	var pauses []time.Duration
	for range 5 {
		clock := testclock.Now()
		evaluate[bool](t.T, b, `new Promise((done) => setTimeout(() => requestAnimationFrame(() => done(true)), 20))`)
		pauses = append(pauses, clock.Elapsed())
	}
	slices.Sort(pauses)
	assert.Less(t, pauses[2], 2*time.Second, "the page responds")
	assert.Less(t, time.Since(begin), time.Minute, "also by the wall clock")
	b.Press("c", kb.ModifierCtrl)
	enter(b, "echo stopped-$((1+1))")
	b.Wait(hasOutput("stopped-2"))
	t.Logf("stopped after %s", time.Since(begin))

	b.Press(kb.F6, kb.ModifierCtrl)
	b.Wait(`document.activeElement.dataset.testid === "tab-terminal"`)
	text, err := os.ReadFile(filepath.Join(dir, "pid"))
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(t, err)
	b.Click(id("terminal-end"))
	b.WaitText(id("terminal-status"), "The terminal is closed.")
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, time.Minute, 20*time.Millisecond)
	b.Click(id("terminal-again"))
	b.Wait(`document.activeElement.classList.contains("xterm-helper-textarea")`)
	enter(b, "exit")
	b.WaitText(id("terminal-status"), "The shell has ended")
}

func hasNoTerminalByDefault(t page) {
	b, _ := t.session(t.TempDir(), "permissions=allow")
	assert.True(t, b.Is(`document.querySelector('[data-testid="tab-terminal"]').hidden`))
	b.IgnoreConsole() // the refused WebSocket
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash += "?terminal"`))
	b.WaitText(id("terminal-status"), "The portal refused to open a terminal.")
}

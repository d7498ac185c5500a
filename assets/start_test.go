package assets_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

const (
	soon = time.Minute
	tick = 20 * time.Millisecond
)

// inSight is true if an element is within the window.
const inSight = `(() => {
	const box = document.querySelector(%q)?.getBoundingClientRect();
	return Boolean(box) && box.height > 0 && box.top >= 0 && box.bottom <= innerHeight;
})()`

// askAgain makes the field request completions again, so that an answer arrives after the selection.
const askAgain = `document.querySelector("#directories [role=option]").dataset.before = "yes";
	document.querySelector("#directory").dispatchEvent(new Event("input", { bubbles: true }))`

// pick opens a chip and chooses from its menu.
func pick(b *portaltest.Browser, chip, value string) {
	b.Wait(`document.querySelector(` + literal(chip) + `)?.value`) // what it offers has arrived
	b.Click(chip)
	b.Click(`.chip-menu:popover-open [data-value=` + literal(value) + `]`)
	b.Wait(`document.querySelector(` + literal(chip) + `).value === ` + literal(value))
}

// inDirectory chooses the directory of a new session.
func inDirectory(b *portaltest.Browser, dir string) {
	b.Click(id("chip-directory"))
	b.Type(id("directory"), dir)
	b.Press(kb.Enter)
	b.WaitGone(id("directory"))
}

func startsSession(t page) {
	dir := t.git()
	b := t.open(t.portal.URL)
	b.WaitText(id("model"), "small (mine)")
	const model = `((chip) => chip.value + " " + chip.textContent)(document.querySelector('[data-testid="model"]'))`
	assert.Equal(t, "mine/small Model: small (mine)", b.Text(model), "GitHub does not know what it costs")
	b.WaitText(".examples", "Run the tests and tell me")
	pick(b, id("model"), "demo")
	b.WaitText(id("model"), "Demo (scripted, offline)")
	for _, part := range []string{".chip-label", ".chip-note"} {
		assert.True(t, b.Is(fmt.Sprintf(inSight, id("model", part))), "%s is visible without scrolling", part)
	}
	assert.Equal(t, "demo Model: Demo (scripted, offline)×0", b.Text(model))
	b.WaitText(id("setup"), "copilot login")
	b.WaitText(id("setup", "button"), "Copy")
	assert.True(t, b.Is(`document.querySelector('[data-testid="send"]').disabled`), "there is no prompt yet")

	b.Click(".examples li:first-child button")
	b.Wait(`document.querySelector('[data-testid="prompt"]').value === "think, then show markdown" && !document.querySelector('[data-testid="send"]').disabled`)

	b.Click(id("chip-directory"))
	b.Type(id("directory"), filepath.Join(filepath.Dir(dir), "nothing"))
	b.WaitText(".about", "Directory not found.")
	b.Type(id("directory"), filepath.Dir(dir)+"/her")
	b.WaitText("#directories [role=option]", "heronry")
	b.Press(kb.ArrowDown)
	b.Do(chromedp.Evaluate[chromedp.Void](askAgain))
	b.WaitText("#directories [role=option]:not([data-before])", "heronry")
	b.Press(kb.Enter)
	b.WaitText(".about", "wetland")
	b.WaitText(".about", "1 file changed")
	assert.Equal(t, dir+"/", b.Text(`document.querySelector("#directory").value`))

	pick(b, id("permissions"), "all")
	b.WaitText(id("chip-directory"), "heronry")
	b.WaitText(id("chip-directory"), "wetland")
	b.Type(id("prompt"), "run `echo heron > bird.txt; cat bird.txt`")
	b.Press(kb.Enter)
	idle(b, 1)
	assert.Equal(t, "#/s/", b.Text(`location.hash.slice(0, 4)`))
	b.WaitText(id("answer"), "heron")
	assert.FileExists(t, filepath.Join(dir, "bird.txt"))
	b.WaitText("header .subtitle", dir)
	b.WaitText("header .git", "wetland · 2 changed")

	b.Click(id("new-session")) // the last choices are preset
	b.Wait(`document.querySelector("#directory")?.value === ` + literal(dir))
	b.Wait(`["permissions", "model"].map((chip) => document.querySelector('[data-testid="' + chip + '"]').value).join() === "all,demo"`)
	assert.Empty(t, b.Text(`document.querySelector('[data-testid="prompt"]').value`))

	require.NoError(t, os.RemoveAll(dir))
	b.Do(chromedp.Reload())
	b.Wait(`![undefined, "", ` + literal(dir) + `].includes(document.querySelector("#directory")?.value)`)
}

func answersPrompt(t page) {
	dir, b := t.TempDir(), t.open(t.portal.URL)
	pick(b, id("model"), "demo")
	inDirectory(b, dir)
	b.Type(id("prompt"), "think, then run `echo heron > bird.txt; cat bird.txt`")
	b.Click(id("send"))
	b.WaitText(id("question"), "echo heron > bird.txt")
	b.WaitText(id("status"), "Waiting for you")
	b.Click(id("allow"))
	b.WaitText(id("answer"), "heron")
	idle(b, 1)
	assert.FileExists(t, dir+"/bird.txt")

	send(b, "ask `Which bird?` choices `heron` `stork`")
	b.WaitText(id("question"), "Which bird?")
	b.Click(id("choice") + ":nth-of-type(2)")
	b.WaitText(id("answer"), "stork")
	idle(b, 2)

	send(b, "run `touch refused.txt`")
	b.WaitText(id("question"), "touch refused.txt")
	b.Click(id("refuse"))
	b.WaitGone(id("question"))
	idle(b, 3)
	assert.NoFileExists(t, dir+"/refused.txt")

	send(b, "wait 600 s")
	b.WaitText(id("status"), "Working")
	b.Click(id("stop"))
	idle(b, 4)
	b.WaitText(id("end"), "Stopped")

	b.Do(chromedp.Reload())
	b.WaitText(id("conversation"), "think, then run")
	b.WaitText(id("answer"), "stork")
	b.WaitText(id("sessions"), "think")
}

func leavesUserWhereTheyAre(t page) {
	b := t.open(t.portal.URL)
	pick(b, id("model"), "demo")
	inDirectory(b, t.TempDir())
	b.Type(id("prompt"), "say `goldeneye`")
	b.Wait(`!document.querySelector('[data-testid="send"]').disabled`)
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="send"]').click(); location.hash = "#/settings"`))
	b.WaitText(id("sessions", `[data-state="idle"]`), "goldeneye")
	assert.Equal(t, "#/settings", b.Text("location.hash"))
	b.Click(id("new-session"))
	b.Wait(written + ` === ""`) // it was sent
}

func keepsModelOverLostConnection(t page) {
	wire := t.portal.Proxy()
	b := t.open(wire.URL())
	b.Outages()
	pick(b, id("model"), "demo")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector('[data-testid="model"] .chip-label').textContent = "old"`))
	require.Eventually(t, func() bool { return wire.Drop() > 0 }, soon, tick)
	b.WaitText(id("model", ".chip-label"), "Demo") // the models have been loaded again
	assert.Equal(t, "demo", b.Text(`document.querySelector('[data-testid="model"]').value`))
}

func warnsAboutStorage(t page) {
	dir := t.TempDir() + "/data"
	require.NoError(t, os.WriteFile(dir, []byte("a file"), 0o600))
	b := t.open(startPortal(t, portaltest.Options{Args: []string{"--data-dir", dir, "--copilot-path", "/nowhere"}}).URL)
	b.WaitText(id("storage"), "use another data directory")
	b.WaitText(id("storage"), "Sessions will be lost when the portal stops")
}

func worksBehindProxy(t page) {
	p := startPortal(t, portaltest.Options{Args: []string{"--base-path", "/tools/portal", "--token", "s3cret"}})
	require.Eventually(t, func() bool {
		return strings.Contains(p.Stderr(), "The portal is listening: http://localhost:"+p.Port+"/tools/portal/\n")
	}, soon, tick)
	site := p.BehindProxy("/tools/portal")
	b := t.open(site + "/tools/portal?token=s3cret")
	b.WaitText(id("model"), "Demo (scripted, offline)")
	inDirectory(b, t.TempDir())
	b.Type(id("prompt"), "run `echo heron`")
	b.Click(id("send"))
	b.WaitText(id("question"), "echo heron")
	b.Click(id("allow"))
	b.WaitText(id("answer"), "heron")
	idle(b, 1)
	b.Do(chromedp.Reload())
	b.WaitText(id("answer"), "heron")
	assert.Regexp(t, "^"+site+"/tools/portal/#/s/.+$", b.Text("location.href"))
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/reference"`))
	b.Click(`[data-id="getHealth"] > summary`)
	b.Click(`[data-id="getHealth"] ` + id("reference-send"))
	b.WaitText(`[data-id="getHealth"] `+id("reference-status"), "200")
}

func explainsSlowFirstStart(t page) {
	cli := filepath.Join(t.TempDir(), "copilot")
	require.NoError(t, os.WriteFile(cli, []byte("#!/bin/sh\nexec sleep 600\n"), 0o600))
	require.NoError(t, os.Chmod(cli, 0o700))
	t.open(t.own("--copilot-path", cli).portal.URL).WaitText(id("setup"), "unpacks about 235 MB")
}

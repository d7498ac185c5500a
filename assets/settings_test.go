package assets_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	pages "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/server/portaltest"
)

func changesEverySetting(t page) {
	t.portal = startPortal(t, portaltest.Options{Args: []string{"--demo"}, Config: second + "permissions: {rules: {git.push: deny}}\n"})
	for name, look := range map[string]func(page){
		"applies the theme before the first paint": appliesTheme,
		"changes the density":                      changesDensity,
		"starts sessions with the defaults":        startsWithDefaults,
		"changes extensions":                       changesExtensions,
	} {
		t.Run(name, func(sub *testing.T) {
			sub.Parallel()
			look(subpage(sub, t))
		})
	}
}

// choose chooses a value of a setting with radio buttons.
func choose(b *portaltest.Browser, setting, value string) {
	b.Do(chromedp.Click(chromedp.CSS(`#` + setting + ` input[value="` + value + `"]`)))
	b.Wait(`document.querySelector('#` + setting + ` input:checked').value === "` + value + `"`)
}

// background is the colour of the page.
const background = `getComputedStyle(document.body).backgroundColor`

const (
	lightPage = "rgb(255, 255, 255)"
	darkPage  = "rgb(20, 23, 27)"
)

// earliest records the background of the page when its body is first seen, and in each frame of the start.
const earliest = `(() => {
	window.seen = [];
	const look = () => { if (document.body) seen.push(getComputedStyle(document.body).backgroundColor); if (performance.now() < 3000 || seen.length < 5) requestAnimationFrame(look); };
	look();
	new MutationObserver((_, all) => { if (document.body) { all.disconnect(); look(); } }).observe(document, { childList: true, subtree: true });
})()`

func appliesTheme(t page) {
	b := t.open(t.portal.URL)
	prefer(b, "color-scheme", "light")
	b.Type(id("prompt"), ",")
	assert.False(t, b.Is(`location.hash === "#/settings"`), "a comma in the prompt is text")
	b.Do(chromedp.Evaluate[chromedp.Void](`document.activeElement.blur()`))
	b.Press("?")
	b.Wait(`document.querySelector("dialog[open]") !== null`)
	b.Press(",", kb.ModifierCtrl)
	assert.False(t, b.Is(`location.hash === "#/settings"`), "nothing changes behind a dialog")
	b.Press(kb.Escape)
	b.Press(",", kb.ModifierCtrl)
	b.Wait(`document.querySelector("#setting-theme input:checked")?.value === ""`)
	b.Wait(background + ` === "` + lightPage + `"`)
	prefer(b, "color-scheme", "dark")
	b.Wait(background + ` === "` + darkPage + `"`)
	other := t.chromium.Open(t.T, t.portal.URL+"/#/settings")
	prefer(other, "color-scheme", "light")
	b.Do(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, pages.AddScriptToEvaluateOnNewDocument, pages.AddScriptToEvaluateOnNewDocumentParams{Source: earliest})
		return err
	}))
	for _, c := range []struct{ system, theme, page string }{{"light", "dark", darkPage}, {"dark", "light", lightPage}} {
		prefer(b, "color-scheme", c.system)
		choose(b, "setting-theme", c.theme)
		b.Wait(background + ` === "` + c.page + `"`)
		b.Do(chromedp.Reload())
		b.Wait(`window.seen?.length > 3 && document.querySelector("[data-testid=settings]") !== null`)
		assert.Equal(t, c.page, b.Text(`[...new Set(seen)].join("; ")`), "it never has another colour")
	}
	choose(b, "setting-theme", "")
	b.Wait(background + ` === "` + darkPage + `"`)
	assert.Equal(t, lightPage, other.Text(background), "the setting is that of the browser")
}

func changesDensity(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=allow")
	t.portal.Run(session, "say `heron`")
	b := t.open(t.portal.URL + "/#/settings")
	height := func() string {
		return b.Text(`String(document.querySelector(` + literal(row(session, "")) + `).offsetHeight)`)
	}
	b.WaitText(row(session, ".row-title"), "heron")
	before := height()
	choose(b, "setting-density", "compact")
	assert.Less(t, height(), before)
	b.Do(chromedp.Reload())
	b.WaitText(row(session, ".row-title"), "heron")
	assert.Less(t, height(), before)
	assert.Equal(t, "14px", b.Text(`getComputedStyle(document.body).fontSize`))
}

func startsWithDefaults(t page) {
	b := t.open(t.portal.URL + "/#/settings")
	b.WaitText(id("settings-permissions"), "git.push: deny")
	b.Wait(`[...document.querySelector("#setting-model").options].some(({ value }) => value === "mine/small")`)
	for setting, value := range map[string]string{"setting-model": "mine/small", "setting-mode": "plan", "setting-permissions": "edits"} {
		b.Do(chromedp.Evaluate[chromedp.Void](`(() => { const node = document.querySelector("#` + setting + `"); node.value = "` + value + `"; node.dispatchEvent(new Event("change")); })()`))
	}
	b.Do(chromedp.Reload())
	b.Wait(`document.querySelector("#setting-model")?.value === "mine/small" && document.querySelector("#setting-mode").value === "plan"`)
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/"`))
	b.Wait(`["model", "mode", "permissions"].map((id) => document.querySelector("[data-testid=" + id + "]")?.value).join() === "mine/small,plan,edits"`)
	pick(b, id("model"), "demo")
	pick(b, id("mode"), "interactive")
	inDirectory(b, t.TempDir())
	send(b, "say `heron`")
	idle(b, 1)
	b.WaitText(id("chip-permissions"), "Allow edits")
	b.Do(chromedp.Evaluate[chromedp.Void](`location.hash = "#/"`))
	b.Wait(`document.querySelector("[data-testid=model]")?.value === "mine/small"`) // the last session's model does not replace it
}

// server selects within the row of an MCP server.
func server(name, within string) string {
	return `[data-server="` + strings.ReplaceAll(name, `"`, `\"`) + `"] ` + within
}

// state is the state of an MCP server in the settings.
func state(name string) string { return server(name, ".sign") }

// own starts a portal with its own home, whose extensions the test changes.
func (t page) own(args ...string) page {
	t.Helper()
	t.portal = startPortal(t, portaltest.Options{Args: append([]string{"--demo"}, args...)})
	return t
}

// changesExtensions runs tests one after another in a portal with its own extensions.
func changesExtensions(t page) {
	t = t.own()
	t.Run("adds, turns off and removes MCP servers", func(sub *testing.T) { managesServers(subpage(sub, t)) })
	t.Run("signs in to an MCP server", func(sub *testing.T) { signsInToServer(subpage(sub, t)) })
	t.Run("lists skills and custom agents", func(sub *testing.T) { listsSkillsAndAgents(subpage(sub, t)) })
}

func managesServers(t page) {
	const hostile = `<img src=x onerror=alert(1)> "q"`
	self, err := os.Executable()
	require.NoError(t, err)
	b := t.open(t.portal.URL + "/#/settings")
	b.WaitText(id("settings-servers"), "No MCP servers yet")
	add := func(name, command, variables string) {
		b.Click(id("add-server"))
		b.Type("#server-name", name)
		b.Type("#server-command", command)
		b.Type("#server-variables", variables)
	}
	add("desk", self+" 'a b'", formserver.Variable+"=1\nKEY=s3cret-value")
	b.WaitText(id("server-what"), "with the rights of the portal")
	assert.Equal(t, self+"|a b|"+formserver.Variable+"|KEY", b.Text(`[...document.querySelectorAll(".server-what code")].map((code) => code.textContent).join("|")`), "exactly what will run")
	b.Click(id("save-server"))
	b.WaitText(state("desk"), "Connected")
	assert.NotContains(t, b.Text("document.documentElement.outerHTML"), "s3cret-value")
	b.WaitText(server("desk", ".settings-command"), "KEY=…")

	add(hostile, "/bin/sh -c 'echo \"<b>no key</b>\" >&2; exit 3'", "")
	b.Press(kb.Escape) // closes the form and keeps what it says
	b.Click(id("add-server"))
	b.Click(id("save-server"))
	b.WaitText(server(hostile, ".settings-error"), "<b>no key</b>") // what it wrote last
	b.WaitText(state(hostile), "Failed")
	assert.False(t, b.Is(`document.querySelector("[data-testid=settings] :is(img, b)") !== null`), "names and errors are text")
	add("desk", "x", "")
	b.Click(id("save-server"))
	b.WaitText(id("server-form"), "already exists")
	b.Press(kb.Escape)

	b.Click(server("desk", ".settings-buttons button")) // turn off
	b.WaitText(state("desk"), "Off")
	session := t.portal.StartSession(t.TempDir(), "permissions=allow")
	t.portal.Run(session, "say `heron`")
	details := t.visit(session)
	details.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-testid=side-extensions]").open = true`))
	details.WaitText(id("side-extensions"), "desk")
	status := t.open(t.portal.URL + "/#/status")
	status.WaitText(id("status-page"), "desk")
	assert.Equal(t, "desk: Off", details.Text(`[...document.querySelectorAll("[data-testid=side-extensions] li")].filter((row) => row.textContent.startsWith("desk")).map((row) => [...row.querySelectorAll("span")].map((part) => part.textContent).join(": ")).join()`))
	assert.Equal(t, "Off", status.Text(`[...document.querySelectorAll("dt")].find((name) => name.textContent === "desk").nextElementSibling.querySelector(".sign").textContent`))
	details.WaitText(`[data-testid="side-extensions"] [data-state="error"]`, "Failed")

	b.Click(server("desk", ".settings-buttons button")) // turn on
	b.WaitText(state("desk"), "Starts with a session")
	b.Click(id("check-servers"))
	b.WaitText(state("desk"), "Connected")
	second := t.portal.StartSession(t.TempDir(), "permissions=allow")
	t.portal.Run(second, "say `heron`")
	details = t.visit(second)
	details.Do(chromedp.Evaluate[chromedp.Void](`document.querySelector("[data-testid=side-extensions]").open = true`))
	details.WaitText(`[data-testid="side-extensions"] [data-state="ready"]`, "Connected")

	for _, name := range []string{hostile, "desk"} {
		b.Click(server(name, ".settings-buttons button:last-child"))
		b.WaitText("dialog[open]", name)
		b.Click("dialog[open] .danger")
		b.WaitGone(server(name, ".settings-row"))
	}
	b.WaitText(id("settings-servers"), "No MCP servers yet")
}

func signsInToServer(t page) {
	b := t.open(t.portal.URL + "/#/settings")
	b.WaitText(id("settings-servers"), "No MCP servers yet")
	b.Click(id("add-server"))
	b.Type("#server-name", "vault")
	b.Do(chromedp.Click(chromedp.CSS(`.server-form input[value="url"]`)))
	b.Type("#server-url", formserver.Vault(t.T))
	b.WaitText(id("server-what"), "will connect to")
	b.Press(kb.Enter)
	b.WaitText(state("vault"), "Needs a sign-in")
	b.Click(server("vault", ".settings-buttons button"))
	b.WaitText(server("vault", ".settings-place"), "Open this page to sign in")
	response, err := http.Get(b.Text(`document.querySelector(".settings-place a").href`)) // as another tab does
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	b.Wait(`(document.querySelector("[data-testid=check-servers]").click(), document.querySelector('[data-server="vault"]').textContent.includes("Connected"))`)
}

func listsSkillsAndAgents(t page) {
	t.file(filepath.Join(t.portal.Home, "skills", "birds"), "SKILL.md", "---\nname: birds\ndescription: All about <b>birds</b>\n---\nThey fly.\n")
	t.file(filepath.Join(t.portal.Home, "agents"), "heron.agent.md", "---\nname: heron\ndescription: Watches <i>ponds</i>\ntools: [read]\n---\nYou watch.\n")
	b := t.open(t.portal.URL + "/#/settings")
	b.WaitText(`[data-skill="birds"]`, "All about <b>birds</b>")
	b.WaitText(`[data-agent="heron"]`, "Watches <i>ponds</i>")
	b.WaitText(`[data-agent="heron"]`, "tools: read")
	b.Click(`[data-skill="birds"] button`)
	b.WaitText(`[data-skill="birds"] button`, "Off")
	assert.Equal(t, "birds", b.Text(`document.activeElement.getAttribute("aria-label")`), "the focus stays")
	b.Do(chromedp.Reload())
	b.WaitText(`[data-skill="birds"] button`, "Off")
	b.Press(kb.Tab)
	b.Click(`[data-skill="birds"] button`)
	b.WaitText(`[data-skill="birds"] button`, "On")
}

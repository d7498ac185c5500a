package assets_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

const sharingOwner = "the-token-of-the-owner"

// openShare opens the dialog for a session that the page shows.
func openShare(b *portaltest.Browser) {
	b.Click(`#rail [aria-current="page"] ~ .row-more, #rail .row-more`)
	b.Click(id("menu-share"))
	b.Wait(`document.querySelector("dialog[open]")`)
}

// createLink creates a link with the dialog, and returns its address.
func createLink(b *portaltest.Browser, rights string) string {
	before := b.Text(`document.querySelector('[data-testid="share-address"]')?.value ?? ""`)
	b.Do(chromedp.Evaluate[chromedp.Void](`void (document.querySelector('[data-testid="share-rights"]').value = "` + rights + `")`))
	b.WaitCount(id("share-create")+"[aria-disabled]", 0) // the list has the previous link
	b.Click(id("share-create"))
	address := ""
	b.WaitValue(`document.querySelector('[data-testid="share-address"]')?.value ?? ""`, func(text string) bool {
		address = text
		return text != "" && text != before
	}, "a new link")
	return address
}

func sharesByLinks(t page) {
	portal := startPortal(t, portaltest.Options{Args: []string{"--demo"}, Config: "token: " + sharingOwner})
	owner := t.open(portal.URL + "/?token=" + sharingOwner)
	owner.Wait(`document.querySelector("#rail")`)
	dir := t.TempDir()
	_, answer := portal.Do("POST", "/api/copilot/session/start/demo?permissions=ask", dir, "Authorization", "Bearer "+sharingOwner)
	session := strings.Split(answer, `"`)[3]
	_, _ = portal.Do("POST", "/api/copilot/session/"+session+"/rename", shortMarkup, "Authorization", "Bearer "+sharingOwner)
	owner.Do(chromedp.Navigate(portal.URL + "/#/s/" + session))
	owner.Wait(there)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o600))
	send(owner, "read `a.txt` say `read this: a.txt`")
	idle(owner, 1)

	owner.WaitText("#rail", shortMarkup) // the list is updated twice a second
	openShare(owner)
	assert.Contains(t, owner.Text(`document.querySelector("dialog[open]").textContent`), shortMarkup, "a hostile title is text")
	assert.False(t, owner.Is(`document.querySelector("dialog[open] img") !== null || globalThis.hit !== undefined`))
	_, _ = portal.Do("POST", "/api/copilot/session/"+session+"/rename", "Another title", "Authorization", "Bearer "+sharingOwner)
	owner.WaitText("dialog[open]", "“Another title”")
	_, _ = portal.Do("POST", "/api/copilot/session/"+session+"/rename", shortMarkup, "Authorization", "Bearer "+sharingOwner)
	owner.WaitText("dialog[open]", shortMarkup)
	read := createLink(owner, "read")
	answers := createLink(owner, "answer")
	assert.Regexp(t, `/s/[a-z2-7]{12}/#share_[a-z2-7]{38}$`, read)
	owner.WaitCount(id("share-revoke"), 2)
	checkSharing(t.T, t.chromium, owner, "the dialog of links")

	reader, answerer := t.open(read), t.open(answers)
	for _, b := range []*portaltest.Browser{reader, answerer} {
		b.WaitText(id("conversation"), "read this")
		assert.True(t, b.Is(`!document.querySelector("#rail, [data-testid=prompt], [data-testid=menu-share]")`), "only the session is shown")
		assert.True(t, b.Is(`!location.href.includes("share_")`), "the token leaves the address")
		assert.True(t, b.Is(`document.cookie === ""`), "no script can read the cookie")
		assert.True(t, b.Is(`globalThis.hit === undefined`))
		assert.True(t, b.Is(`document.querySelector(".tool") !== null && !document.querySelector("[data-testid=tool-path], [data-testid=path-link]")`), "files are not shared")
		b.WaitText(id("title"), shortMarkup)
	}
	reader.WaitText(id("link-note"), "You can read this session. The link expires in 7 days.")
	answerer.WaitText(id("link-note"), "You can read this session and answer its questions. The link expires in 7 days.")
	reader.Do(chromedp.Reload())
	reader.WaitText(id("conversation"), "read this")

	owner.Press("\x1b")
	owner.WaitGone(`dialog`)
	send(owner, "run `echo live`")
	owner.Wait(`document.querySelector('[data-testid="question"]')`)
	reader.WaitText(id("status"), "Waiting for an answer")
	answerer.Wait(`document.querySelector('[data-testid="question"]')`)
	checkSharing(t.T, t.chromium, reader, "the page of a reader")
	checkSharing(t.T, t.chromium, answerer, "the page of a link that may answer")
	assert.True(t, reader.Is(`!document.querySelector('[data-testid="question"]')`), "a reader is not asked")
	answerer.Click(id("question", "button.primary"))
	for _, b := range []*portaltest.Browser{owner, reader, answerer} {
		b.WaitCount(id("end"), 2)
		b.WaitGone(id("question"))
	}

	post := func(path string) {
		_, _ = portal.Do("POST", "/api/copilot/session/"+session+path, "", "Authorization", "Bearer "+sharingOwner)
	}
	post("/stop")
	reader.WaitText(id("status"), "Closed")
	post("/resume")
	reader.Wait(`document.querySelector('[data-testid="status"]').textContent === ""`)

	openShare(owner)
	owner.WaitCount(id("share-revoke"), 2)
	owner.WaitText(id("share-list"), "in use, or used just now")
	reader.IgnoreConsole() // the browser reports the refused connection
	owner.Click(id("share-revoke"))
	require.Eventually(t, func() bool { // the page navigates meanwhile
		text, err := chromedp.Run(reader.Context, chromedp.Evaluate[string]("document.body.innerText"))
		return err == nil && strings.Contains(text, "This link does not work")
	}, time.Minute, 50*time.Millisecond)
	owner.WaitCount(id("share-revoke"), 1)
	answerer.Do(chromedp.Reload())
	answerer.WaitText(id("conversation"), "read this")

	late := t.open("about:blank")
	late.IgnoreConsole()
	late.Do(chromedp.Navigate(read))
	late.WaitText(id("link"), "It has expired, was revoked, or is incomplete")
}

// checkSharing checks a page with axe-core, in all sizes and themes.
func checkSharing(t *testing.T, chromium *portaltest.Chromium, b *portaltest.Browser, what string) {
	t.Helper()
	axe, err := os.ReadFile(filepath.Join("..", ".tools", "axe", "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err)
	a := access{T: t, chromium: chromium, axe: string(axe)}
	a.load(b)
	a.checkSizes(b, what)
}

package server_test

import (
	"os"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/sdk/desk"
	"github.com/copilot-portal/portal/server/portaltest"
)

// page is what a test of the page needs: the browser, and a portal that it shares
// with others.
type page struct {
	*testing.T
	chromium *portaltest.Chromium
	portal   *portaltest.Portal
}

func (p page) open(url string) *portaltest.Browser {
	p.Helper()
	return p.chromium.Open(p.T, url)
}

// session opens a new session.
func (p page) session(query string) (*portaltest.Browser, string) {
	p.Helper()
	id := p.portal.StartSession(p.TempDir(), query)
	return p.open(p.portal.URL + "/#/session/" + id), id
}

func TestThePage(t *testing.T) {
	t.Parallel()
	chromium, portal := portaltest.StartChromium(t), portaltest.Start(t, portaltest.Options{})
	desk.Configure(t, portal.Home, nil)
	for name, look := range map[string]func(page){
		"answers a prompt and asks before a command":            answersAPrompt,
		"shows a session in two browsers, where either answers": inTwoBrowsers,
		"shows a plan and sends it back or carries it out":      showsAPlan,
		"fills in a form and shows where to sign in":            fillsInAForm,
		"says what keeps sessions from being stored":            saysWhyNothingIsStored,
		"goes on with a session whose portal was killed":        goesOnAfterAKill,
		"works behind a proxy below a path":                     behindAProxy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look(page{t, chromium, portal.For(t)})
		})
	}
}

func answersAPrompt(t page) {
	dir, b := t.TempDir(), t.open(t.portal.URL)
	id := portaltest.ID

	b.WaitText(id("model"), "Demo (scripted, offline)")
	b.WaitText(id("setup"), "copilot login")
	b.WaitText(".example", "show markdown")
	b.Type(id("directory"), dir)
	b.Type(id("prompt"), "think, then run `echo heron > bird.txt; cat bird.txt`")
	b.Click(id("send"))
	b.WaitText(id("question"), "echo heron > bird.txt")
	b.Click(id("allow"))
	b.WaitText(id("tool"), "heron")
	b.WaitText(id("answer"), "heron")
	b.WaitText(id("status"), "Idle")
	assert.FileExists(t, dir+"/bird.txt")

	b.Type(id("prompt"), "ask `Which bird?` choices `heron` `stork`"+kb.Enter)
	b.WaitText(id("question"), "Which bird?")
	b.Click(id("choice") + ":nth-of-type(2)")
	b.WaitText(id("answer"), "stork")

	b.Type(id("prompt"), "run `touch refused.txt`"+kb.Enter)
	b.WaitText(id("question"), "touch refused.txt")
	b.Click(id("refuse"))
	b.WaitGone(id("question"))
	b.WaitText(id("status"), "Idle")
	assert.NoFileExists(t, dir+"/refused.txt")

	b.Type(id("prompt"), "wait 60 s"+kb.Enter)
	b.WaitText(id("status"), "Running")
	b.Click(id("stop"))
	b.WaitText(id("status"), "Idle")

	b.Do(chromedp.Reload())
	b.WaitText(id("conversation"), "think, then run")
	b.WaitText(id("answer"), "stork")
	b.WaitText(id("sessions"), "think")
}

func inTwoBrowsers(t page) {
	first, session := t.session("permissions=ask")
	second := t.open(t.portal.URL + "/#/session/" + session)
	t.portal.Query(session, "run `echo seen`")
	for _, b := range []*portaltest.Browser{first, second} {
		b.WaitText(portaltest.ID("question"), "echo seen")
	}
	second.Click(portaltest.ID("allow"))
	first.WaitGone(portaltest.ID("question"))
	for _, b := range []*portaltest.Browser{first, second} {
		b.WaitText(portaltest.ID("answer"), "seen")
	}
}

func showsAPlan(t page) {
	b, session := t.session("permissions=ask")
	p := t.portal
	id := portaltest.ID
	propose := func() {
		assert.Empty(t, p.API("POST", "copilot/session/"+session+"/query?mode=plan", proposal))
		b.WaitText(id("plan")+" h2", "Do it")
		b.WaitText(id("plan")+" li", "first")
	}

	propose()
	b.Type(id("reason"), "with tests, please")
	b.Click(id("refuse"))
	b.WaitText(id("answer"), "with tests, please")
	b.WaitText(id("status"), "Idle")

	propose()
	b.WaitText(id("choice"), "on autopilot")
	b.Click(id("choice") + ".primary")
	b.WaitText(id("answer"), "Plan approved")
	b.WaitText(id("status"), "Idle")

	// What a plan holds is text; a script is no link.
	p.API("POST", "copilot/session/"+session+"/query?mode=plan", "call `exit_plan_mode` `{\"summary\":\"Hm <img src=x onerror=alert(1)> [here](javascript:alert(1))\"}`")
	b.WaitText(id("plan"), "<img src=x onerror=alert(1)>")
	b.WaitGone(id("plan") + " :is(img, a)")
	b.Click(id("refuse"))
	b.WaitGone(id("question"))
}

func fillsInAForm(t page) {
	b, session := t.session("permissions=allow&interactive=true")
	p := t.portal
	id := portaltest.ID

	p.Query(session, "call `desk-form`")
	b.WaitText(id("question"), "desk asks")
	b.WaitText(id("question"), "Who are you?")
	b.Click(id("submit")) // the browser sees that the name is missing
	b.Type(id("field-name"), "Ada")
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
	b.WaitText(id("address")+`[href="https://example.com/login"][target="_blank"][rel="noreferrer"]`, "https://example.com/login")
	b.Click(id("done"))
	b.WaitGone(id("question"))
	b.WaitText(id("status"), "Idle")
}

func saysWhyNothingIsStored(t page) {
	dir := t.TempDir() + "/data"
	require.NoError(t, os.WriteFile(dir, []byte("a file"), 0o600))
	b := t.open(portaltest.Start(t, portaltest.Options{Args: []string{"--data-dir", dir}}).URL)
	b.WaitText(portaltest.ID("storage"), "name another data directory")
}

func goesOnAfterAKill(t page) {
	p := portaltest.Start(t, portaltest.Options{})
	session := p.StartSession(t.TempDir(), "permissions=ask")
	assert.Equal(t, "heron", portaltest.Answer(p.Run(session, "say `heron`")))
	p.Query(session, "run `echo stork`")
	p.Until(session, "onPermissionRequest")
	settle()
	p.Kill()

	p = p.Again()
	b := t.open(p.URL + "/#/session/" + session)
	id := portaltest.ID
	b.WaitText(id("answer"), "heron")
	b.WaitText(id("question"), "echo stork")
	b.WaitText(id("status"), "Waiting for you")
	b.Click(id("allow"))
	b.WaitText(id("tool"), "stork")
	b.WaitText(id("status"), "Idle")
	b.Type(id("prompt"), "say `egret`"+kb.Enter)
	b.WaitText(id("conversation"), "egret")
	b.WaitText(id("sessions"), "heron")
}

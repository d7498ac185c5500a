package server_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

func TestThePageAnswersAPromptAndAsksBeforeACommand(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	dir := t.TempDir()
	b := portaltest.Open(t, p.URL)
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

func TestTheSameSessionIsWatchedInTwoBrowsersAndAnsweredInEither(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	session := p.StartSession(t.TempDir(), "permissions=ask")
	first := portaltest.Open(t, p.URL+"/#/session/"+session)
	second := portaltest.Open(t, p.URL+"/#/session/"+session)
	p.Query(session, "run `echo seen`")
	for _, b := range []*portaltest.Browser{first, second} {
		b.WaitText(portaltest.ID("question"), "echo seen")
	}
	second.Click(portaltest.ID("allow"))
	first.WaitGone(portaltest.ID("question"))
	for _, b := range []*portaltest.Browser{first, second} {
		b.WaitText(portaltest.ID("answer"), "seen")
	}
}

package assets_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// words is the demo model's answer to a request for n tokens.
func words(n int) string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("w%d", i+1)
	}
	return strings.Join(list, " ")
}

// saying is the text of the last answer.
const saying = `([...document.querySelectorAll('[data-testid="answer"]')].at(-1)?.textContent ?? "").trim().replace(/\s+/g, " ")`

// says waits for the whole answer, and checks that it occurs once, in the page and in the
// portal's record.
func says(t *testing.T, b *portaltest.Browser, p *portaltest.Portal, session, text string) {
	t.Helper()
	b.Wait(`document.querySelector('[data-testid="status"]').textContent === "" && document.querySelector('[data-testid="end"]') !== null`)
	assert.Equal(t, text, b.Text(saying))
	b.WaitCount(id("answer"), 1)
	b.WaitCount(id("prompt-block"), 1)
	b.WaitCount(id("end"), 1)
	status, record := p.Do(http.MethodGet, "/api/copilot/session/"+session+"/export", "")
	assert.Equal(t, http.StatusOK, status)
	assert.Equal(t, 1, strings.Count(record, text), "the record has the same text once")
}

func reloadsDuringStream(t page) {
	b, session := t.session(t.TempDir(), "permissions=ask")
	send(b, "300 tokens in 6 s")
	for _, seen := range []string{"w20 ", "w120 "} {
		b.WaitText(id("answer"), seen)
		b.Do(chromedp.Reload())
		b.WaitText(id("answer"), seen)
	}
	says(t.T, b, t.portal, session, words(300))
	t.reload(b)
}

// The connection breaks several times during a stream, at any byte.
func streamsOverUnstableConnection(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=ask")
	wire := t.portal.Proxy()
	b := t.open(wire.URL() + "/#/s/" + session)
	b.Outages()
	b.Wait(there)
	send(b, "400 tokens in 6 s")
	for i := 1; i <= 6; i++ {
		b.WaitText(id("answer"), fmt.Sprintf("w%d ", 50*i+rand.IntN(20)))
		require.Eventually(t, func() bool { return wire.Drop() > 0 }, soon, tick)
	}
	says(t.T, b, t.portal, session, words(400))
	t.visit(session).WaitValue(shown, func(text string) bool { return text == b.Text(shown) }, "a tab that was never disconnected shows another text")
}

func showsOffline(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=ask")
	wire := t.portal.Proxy()
	b := t.open(wire.URL() + "/#/s/" + session)
	b.Outages()
	b.Wait(there)
	t.portal.Query(session, "run `echo heron`")
	b.WaitText(id("question"), "echo heron")
	wire.Sever()
	b.WaitText(id("offline")+":not([hidden])", "Can't reach the portal.")
	b.Click(id("allow"))
	b.WaitText(id("question"), "Your answer is sent when it reconnects and this session is shown.")

	b.Type(id("prompt"), "say `stork`")
	b.Press(kb.Enter)
	b.WaitText(id("problem"), "Can't reach the portal.")
	b.Wait(written + " === \"say `stork`\"") // an unsent prompt stays in the composer
	b.WaitCount(id("queue", "li"), 0)
	wire.Heal()
	b.WaitGone(id("offline"))
	b.Wait(`document.querySelector('[data-testid="problem"]').textContent === ""`)
	b.WaitText(id("answer"), "heron") // the answer was sent
	idle(b, 1)
	b.Do(chromedp.Focus(chromedp.CSS(id("prompt"))))
	b.Press(kb.Enter)
	idle(b, 2)
	b.WaitText(id("answer"), "stork")
	b.WaitCount(id("prompt-block"), 2)
}

// again restarts a portal on the same port, with the pages still open.
func again(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	startPortal(t, portaltest.Options{Home: p.Home, Args: []string{"--port", p.Port}})
}

// kept is the time a portal may take to write events.
const kept = 300 * time.Millisecond

func recoversAfterKill(t page) {
	p := startPortal(t, portaltest.Options{})
	session := p.StartSession(t.TempDir(), "permissions=ask")
	b := t.open(p.URL + "/#/s/" + session)
	b.Outages()
	b.Wait(there)
	send(b, "say `heron`")
	idle(b, 1)
	assert.Equal(t, `say heron – Copilot Portal`, strings.ReplaceAll(b.Text("document.title"), "`", ""))
	assert.True(t, b.Is(`document.querySelector("#icon").href.endsWith("/favicon.svg")`))
	send(b, "run `echo stork`")
	b.WaitText(id("question"), "echo stork")
	b.Wait(`document.title.startsWith("(1) Waiting for you: ") && document.querySelector("#icon").href.endsWith("/favicon-waiting.svg")`)
	testclock.Settle(kept)
	p.Kill()
	b.WaitText(id("offline")+":not([hidden])", "Can't reach the portal.")
	b.WaitText(id("answer"), "heron") // still readable

	again(t.T, p)
	b.WaitGone(id("offline")) // automatically
	b.WaitText(id("question"), "echo stork")
	b.WaitText(id("status"), "Waiting for you")
	b.WaitCount(id("prompt-block"), 2)
	b.WaitCount(id("question"), 1)
	b.Wait(`!document.querySelector('[data-testid="allow"]').closest("fieldset").disabled`)
	b.Click(id("allow"))
	b.WaitText(id("answer"), "stork")
	idle(b, 2)
	send(b, "say `egret`")
	idle(b, 3)
	b.WaitText(id("answer"), "egret")
	b.WaitText(id("sessions"), "heron")
	b.WaitCount(id("prompt-block"), 3)
	b.WaitCount(id("answer"), 3)
	t.reload(b)
}

func reconnectsAfterRestart(t page) {
	p := startPortal(t, portaltest.Options{})
	session := p.StartSession(t.TempDir(), "permissions=ask")
	first, start := t.open(p.URL+"/#/s/"+session), t.open(p.URL)
	first.Outages()
	start.Outages()
	first.Wait(there)
	send(first, "30 tokens in 1 s wait 600 s")
	first.WaitText(id("answer"), "w10 ")
	old := t.beforeUpdate(p)
	p.Stop()
	for _, b := range []*portaltest.Browser{first, start} {
		b.WaitText(id("offline")+":not([hidden])", "Can't reach the portal.")
	}

	again(t.T, p)
	for _, b := range []*portaltest.Browser{first, start} {
		b.WaitGone(id("offline"))
		b.WaitText(id("sessions"), "30 tokens in 1 s wait 600 s")
	}
	idle(first, 1)
	first.WaitText(id("error"), "The portal stopped during this run.")
	first.Wait(`document.querySelector(` + literal(row(session, "")) + `).dataset.state === "failed"`)
	first.WaitCount(id("prompt-block"), 1)
	first.WaitCount(id("answer"), 1)
	require.Regexp(t, `^w1 w2 .*w10`, first.Text(saying))
	before := first.Text(saying)
	t.reload(first)
	assert.Equal(t, before, first.Text(saying))

	start.WaitText(id("model"), "Demo (scripted, offline)")
	inDirectory(start, t.TempDir())
	start.Type(id("prompt"), "say `back`")
	start.Press(kb.Enter)
	idle(start, 1)
	start.WaitText(id("answer"), "back")
	first.WaitText(id("sessions"), "back")
	offersNewVersion(t, old)
}

func loadsEarlierItems(t page) {
	const calls = 90 // several events each: more than one page of the past
	session := t.portal.StartSession(t.TempDir(), "permissions=allow")
	var script strings.Builder
	for i := range calls {
		fmt.Fprintf(&script, "write `call-%d` `x` ", i)
	}
	t.portal.Query(session, script.String())
	for range calls { // each may take as long as others take in all
		t.portal.Until(session, "onEndToolExecution")
	}
	t.portal.Until(session, "onIdle")
	b := t.visit(session)
	b.WaitCount(id("tool"), calls)
	b.WaitCount(id("prompt-block"), 1)
	b.WaitCount(id("end", id("more")), 1) // although the end was drawn before the prompt was loaded
	assert.True(t, b.Is(`[...document.querySelectorAll('[data-testid="tool"] .object')].every((call, i) => call.textContent === "call-" + i)`), "in order")
	b.Wait(`(() => { // the end stays visible
		const scroll = document.querySelector(".session .scroll");
		return scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 50;
	})()`)
}

func triesAgain(t page) {
	session := t.portal.StartSession(t.TempDir(), "permissions=ask")
	t.portal.Run(session, "say `bittern`")
	b := t.openTapped(t.portal.URL, `failing["portal.sessions.watch"] = 1;`)
	b.WaitText(row(session, ".row-title"), "bittern") // the list is asked for again
	for range 2 {
		b.Do(failsOnce("portal.session.attach"))
		b.Click(row(session, ".row-link")) // the second time, the address stays the same
		b.Wait(`failing["portal.session.attach"] === 0`)
		b.WaitText("main", "The disk is full.")
	}
	b.Press("k", kb.ModifierCtrl)
	b.Type(id("palette", "input"), "bittern")
	b.Do(failsOnce("portal.session.attach"))
	b.Press(kb.Enter)
	b.Wait(`failing["portal.session.attach"] === 0`)
	b.Click(id("try-again"))
	b.WaitText(id("answer"), "bittern")
}

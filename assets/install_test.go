package assets_test

import (
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// worker is true once the service worker controls the page.
const worker = `navigator.serviceWorker.controller !== null`

// list collects the addresses of what the app keeps, in kept.
const list = `void (async () => {
	const caches = await Promise.all((await self.caches.keys()).map((name) => self.caches.open(name)));
	const requests = await Promise.all(caches.map((cache) => cache.keys()));
	window.kept = requests.flat().map(({ url }) => new URL(url).pathname).sort().join(" ");
})()`

func saysThatThePortalIsGone(t page) {
	args := []string{"--copilot-path", "/nowhere", "--base-path", "/portal", "--token", "heron"} // it needs no agent
	portal := startPortal(t, portaltest.Options{Args: args})
	b := t.open(portal.URL + "/portal/?token=heron")
	b.Outages()
	b.Wait(isUsable)
	b.Wait(worker)
	b.Do(chromedp.Evaluate[chromedp.Void](list))
	b.Wait("window.kept !== undefined")
	assert.Equal(t, "/portal/offline.html /portal/offline.js /portal/styles/offline.css", b.Text("window.kept"), "no code and nothing of a session")

	portal.Stop()
	b.Do(chromedp.Reload())
	b.WaitText("h1", "Can't reach the portal")
	assert.Equal(t, "rgb(11, 92, 196)", b.Text(`getComputedStyle(document.querySelector("a")).backgroundColor`), "with its style")

	startPortal(t, portaltest.Options{Home: portal.Home, Args: append(args, "--port", portal.Port)})
	usable := func() bool { // it comes by itself; there is a moment in which nothing can be asked
		now, err := chromedp.Run(b.Context, chromedp.Evaluate[bool](isUsable))
		return err == nil && now
	}
	require.Eventually(t, usable, time.Minute, 100*time.Millisecond)
}

// isUsable is true once a prompt can be written.
const isUsable = `Boolean(document.querySelector("textarea")?.getClientRects().length)`

// beforeUpdate opens the page as one of another version than that of a portal that is restarted.
func (t page) beforeUpdate(p *portaltest.Portal) *portaltest.Browser {
	t.Helper()
	b := t.open(p.URL)
	b.Outages()
	b.WaitText(id("model"), "Demo (scripted, offline)") // it was connected
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => { // the restarted portal has another version
		const plain = window.fetch;
		window.fetch = (...args) => args[0] === "version" ? Promise.resolve(Response.json({ version: "2", page: "v-0123456789abcdef" })) : plain(...args);
	})()`))
	return b
}

func offersNewVersion(t page, b *portaltest.Browser) {
	b.WaitText(id("updated"), "The portal was updated.")
	assert.Equal(t, "Reload", b.Text(`document.querySelector("[data-testid=updated] button").textContent`))
	b.Do(chromedp.Reload()) // as the button does, which would make the next question fail
	b.Wait(isUsable)
	b.WaitGone(id("updated"))
}

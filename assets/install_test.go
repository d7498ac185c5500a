package assets_test

import (
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// worker is true once the service worker controls the page.
const worker = `navigator.serviceWorker.controller !== null`

// stored lists the addresses that the app keeps.
const stored = `(async () => {
	const caches = await Promise.all((await self.caches.keys()).map((name) => self.caches.open(name)));
	const requests = await Promise.all(caches.map((cache) => cache.keys()));
	return requests.flat().map(({ url }) => new URL(url).pathname).sort().join(" ");
})()`

func TestAppSaysThatThePortalIsGone(t *testing.T) {
	t.Parallel()
	chromium := portaltest.StartChromium(t)
	args := []string{"--demo", "--debug=false", "--base-path", "/portal", "--token", "heron"}
	portal := portaltest.Start(t, portaltest.Options{Args: args})
	b := chromium.Open(t, portal.URL+"/portal/?token=heron")
	b.Outages()
	b.Wait(isUsable)
	b.Wait(worker)
	assert.Equal(t, "/portal/offline.html /portal/styles/offline.css", b.Text(stored), "no code and nothing of a session")

	portal.Stop()
	b.Do(chromedp.Reload())
	b.WaitText("h1", "Can't reach the portal")
	assert.Equal(t, "rgb(11, 92, 196)", b.Text(`getComputedStyle(document.querySelector("a")).backgroundColor`), "with its style")

	portaltest.Start(t, portaltest.Options{Home: portal.Home, Args: append(args, "--port", portal.Port)})
	b.Click("a")
	b.Wait(isUsable)
}

// isUsable is true once a prompt can be written.
const isUsable = `Boolean(document.querySelector("textarea")?.getClientRects().length)`

func TestPageOffersANewVersion(t *testing.T) {
	t.Parallel()
	chromium := portaltest.StartChromium(t)
	portal := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--debug=false"}})
	b := chromium.Open(t, portal.URL)
	b.Outages()
	b.Wait(isUsable)
	b.Do(chromedp.Evaluate[chromedp.Void](`(() => { // the restarted portal has another version
		const plain = window.fetch;
		window.fetch = (...args) => args[0] === "version" ? Promise.resolve(Response.json({ version: "2", page: "v-0123456789abcdef" })) : plain(...args);
	})()`))
	portal.Stop()
	again(t, portal)
	b.WaitText(id("updated"), "The portal was updated.")
	b.Click(id("updated", "button"))
	b.WaitGone(id("updated"))
}

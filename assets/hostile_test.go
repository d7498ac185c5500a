package assets_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/server/portaltest"
)

// A hostile text sets the global "hit" or opens a dialog if it is executed.
const (
	shortMarkup = `<img src=x onerror="hit=1;alert(1)">`

	markup = `<script>hit=1;alert(1)</script> <img src=x onerror="hit=1;alert(1)"> <svg onload="hit=1"><animate onbegin="alert(1)" attributeName=x></svg>
<style>*{display:none!important}</style> <iframe srcdoc="<script>parent.hit=1</script>"></iframe> <base href="https://evil.example/">
<form action="https://evil.example/" id=view name=body><input name=location><button formaction="javascript:hit=1">x</button></form>
<meta http-equiv=refresh content="0;url=https://evil.example/"> <link rel=stylesheet href="https://evil.example/x.css"> <object data="javascript:hit=1"></object>
<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=hit=1&gt;"> <noscript><p title="</noscript><img src=x onerror=hit=1>">
</code></pre></div></article><img src=x onerror=hit=1> <a href="javascript:hit=1" id=rail name=getElementById>x</a> &lt;script&gt;hit=1&lt;/script&gt; <!-- x`

	links = `[a](javascript:hit=1) [b](JaVaScRiPt:hit=1) [c](&#106;avascript:hit=1) [d](java&#x0A;script:hit=1) [e](data:text/html,<script>hit=1</script>)
[f](vbscript:hit) [g](%6aavascript:hit=1) [h](//evil.example/) [i](\javascript:hit=1) [j](<java	script:hit=1>) [k](blob:https://evil.example/1) [l](#/status) [m](file:///etc/passwd)
[n](https://good.example/x) [o](mailto:a@good.example) [r] [s][] [t][r] <javascript:hit=1> <data:text/html,x> <https://auto.example> https://bare.example/x
![p](https://evil.example/pixel.png) ![q](data:image/svg+xml,<svg/onload=hit=1>) ![](javascript:hit=1) [![x](https://evil.example/y.png)](javascript:hit=1)

[r]: javascript:hit=1
[s]: data:text/html;base64,PHNjcmlwdD5oaXQ9MTwvc2NyaXB0Pg==

# heading {#view .row onclick="hit=1"}

- [ ] <input autofocus onfocus=hit=1>

| <img src=x onerror=hit=1> | b |
| --- | --- |
| [a](javascript:hit=1) | <style>*{color:red}</style> |

` + "```html\" onclick=\"hit=1\n<script>hit=1</script>\n```"

	turned = "user\u202egnp.exe\u202c \u2066\u2067iso\u2069 \u200b\u200c\u200d\ufeffzero\u00ad\u061c \u0e01\u0e49\u0e49\u0e49\u0e49\u0e49\u0e49 Z\u0351\u036b\u0343\u036a\u0302 \ufffd end"
)

// stage is a portal with hostile content, and a browser.
type stage struct {
	*testing.T
	chromium *portaltest.Chromium
	portal   *portaltest.Portal
}

func TestHostileContentIsShownAsText(t *testing.T) {
	t.Parallel()
	portal := startPortal(t, portaltest.Options{Args: []string{"--demo"}, Config: "providers:\n- {name: '<b>evil', base_url: 'http://127.0.0.1:1/', models: ['<img src=x onerror=hit=1>', " +
		"'" + strings.Repeat("long", 200) + "', \"turned\\u202egnp\"]}\n"})
	formserver.Configure(t, portal.Home, nil)
	chromium := portaltest.StartChromium(t)
	for name, look := range map[string]func(stage){
		"text":                   hostileText,
		"tools and their output": hostileTools,
		"changes":                hostileChanges,
		"questions":              hostileQuestions,
		"names":                  hostileNames,
		"huge content":           hugeContent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			look(stage{t, chromium, portal.For(t)})
		})
	}
}

func hostileText(t stage) {
	id := t.portal.StartSession(t.TempDir(), "permissions=allow&interactive=true")
	w := t.watch("/#/s/" + id)
	t.portal.Run(id, "think about "+fence(markup)+" say "+fence(markup))
	t.portal.Run(id, "say "+fence(links))
	t.portal.Run(id, "say "+fence(turned+"\n\n"+strings.Repeat("wide", 2000)+"\n\n`"+strings.Repeat("x", 3000)+"`\n\n| "+strings.Repeat("cell | ", 60)+"\n"+strings.Repeat("|---", 60)+"|\n"))
	w.WaitText(".end + .prompt .prompt-text", "onclick")
	for range 2 {
		w.unfold()
		w.shows(".prompt-text", markup)
		w.shows(".reasoning .thought", `<script>hit=1;alert(1)</script>`, `<base href="https://evil.example/">`)
		w.shows(".text", `<script>hit=1;alert(1)</script>`, `onerror="hit=1;alert(1)"`, "<style>*{display:none!important}</style>", "{#view .row", "javascript:hit=1", "gnp.exe")
		assert.ElementsMatch(t, []string{
			"https://good.example/x", "mailto:a@good.example", "https://auto.example", "https://bare.example/x",
			"https://evil.example/pixel.png",
		}, evaluate[[]string](t, w.Browser, `[...document.querySelectorAll(".flow .markdown a")].map((a) => a.getAttribute("href"))`))
		w.holds()
		w.Do(chromedp.Reload())
		w.WaitText(".text", "gnp.exe")
	}
}

func hostileTools(t stage) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("page.html", markup+"\n"+links)
	write("bytes", "a\xff\xfe\xed\xa0\x80b \x00\x01 "+turned)
	write("bomb", "\x1b]0;<script>hit=1</script>\a\x1b[99999999C\x1b[99999999B\x1b[2J\x1b[99999;99999Hfar\x1b]8;;javascript:hit=1\ajs\x1b]8;;\a\x1b]8;;https://good.example/\x1b\\good\x1b]8;;\a"+
		"\x1b]1337;File=inline=1:PHN2Zz4=\a\x1b_Gf=100;AAAA\x1b\\\x1bPq#0~\x1b\\\x1b[?1049h\x1b[6n\x1b]52;c;aGl0\a"+strings.Repeat("\x1b[38;2;1;2;3mc\x1b[48;5;200md", 5000)+"\x1b[0m the end\n")
	name := `<img src=x onerror=hit=1>` + "\u202egpj.txt"
	write(name, "one\ntwo\n")
	id := t.portal.StartSession(dir, "permissions=allow&interactive=true")
	w := t.watch("/#/s/" + id)
	t.portal.Run(id, "run `cat page.html`, run `cat bytes`, run `cat bomb`, read "+fence(name)+", edit "+fence(name)+" `two` "+fence(markup)+
		", write "+fence("<svg onload=hit=1>.md")+" "+fence(links)+" and say `done`")
	t.portal.Run(id, "run "+fence("false # "+shortMarkup+turned)+", call `"+`report_intent`+"` "+fence(`{"intent":"<img src=x onerror=hit=1> \ud800"}`)+" and say `done`")
	for range 2 {
		w.WaitText(".end ~ .end, .chunk .end", "")
		w.Wait(`document.querySelectorAll(".end").length == 2`)
		w.unfold()
		w.shows(".tool-body", `<script>hit=1;alert(1)</script>`, `<base href="https://evil.example/">`, "[f](vbscript:hit)", "far", "good", "the end")
		w.shows(".tool summary", `<img src=x onerror=hit=1>‹U+202E›gpj.txt`, `<svg onload=hit=1>.md`)
		w.shows(".side .files", `<img src=x onerror=hit=1>‹U+202E›gpj.txt`)
		w.holds()
		w.Do(chromedp.Reload())
	}
	for file, text := range map[string]string{name: "<iframe srcdoc=", "page.html": `<script>hit=1;alert(1)</script>`, "bomb": "]0;<script>hit=1</script>", "<svg onload=hit=1>.md": "[f](vbscript:hit)"} {
		w.Do(chromedp.Navigate(t.portal.URL + "/#/s/" + id + "?file=" + url.QueryEscape(file)))
		w.shows(".file-code", text)
		w.holds()
	}
	w.Do(chromedp.Navigate(t.portal.URL + "/#/s/" + id + "?file=" + url.QueryEscape(shortMarkup+"\u202e")))
	w.shows(portaltest.ID("file-note"), "does not exist")
	w.shows(".file-path", "‹U+202E›")
	w.holds()
}

func hostileQuestions(t stage) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("two"), 0o600))
	id := t.portal.StartSession(dir, "permissions=ask&interactive=true")
	w := t.watch("/#/s/" + id)
	question := portaltest.ID("question")
	title := `{"message":` + literal(markup+turned) + `,"requestedSchema":{"type":"object","required":["<b>name"],"properties":{` +
		`"<b>name":{"type":"string","title":` + literal(markup) + `,"description":` + literal(links) + `,"default":` + literal(shortMarkup) + `},` +
		`"view":{"type":"string","enum":["<i>","b"],"enumNames":["<script>hit=1</script>","\u202eb"]}}}}`
	for _, c := range []struct{ prompt, mode, text string }{
		{"run " + fence("echo "+shortMarkup+turned), "", shortMarkup},
		{"edit `a.txt` `two` " + fence(markup+turned), "", "<iframe srcdoc="},
		{"ask " + fence(markup+turned) + " choices " + fence(shortMarkup) + " " + fence(turned), "", "<iframe srcdoc="},
		{"ask " + fence(shortMarkup+strings.Repeat("wide", 500)), "", shortMarkup},
		{"call `exit_plan_mode` " + fence(`{"summary":`+literal(markup+"\n\n"+links)+`,"actions":["autopilot","interactive"],"recommendedAction":"interactive"}`), "plan", "<iframe srcdoc="},
		{"call `desk-form` " + fence(title), "", "<iframe srcdoc="},
		{"call `desk-visit` " + fence(`{"mode":"url","elicitationId":"1","url":"javascript:hit=1","message":`+literal(markup)+`}`), "", "<iframe srcdoc="},
	} {
		t.portal.API("POST", "copilot/session/"+id+"/query?mode="+c.mode, c.prompt)
		allowUntil(t, w.Browser, c.text)
		w.shows(question, c.text)
		w.holds()
		w.Click(question + " " + portaltest.ID("refuse"))
		t.portal.Until(id, "onIdle")
		w.WaitGone(question)
	}
}

func hostileNames(t stage) {
	dir := filepath.Join(t.TempDir(), shortMarkup+"\u202egpj"+strings.Repeat("w", 150))
	require.NoError(t, os.Mkdir(dir, 0o700))
	id := t.portal.StartSession(dir, "permissions=allow&interactive=true")
	t.portal.Run(id, "say "+fence("heron "+shortMarkup+" \u202enorer"))
	t.portal.Run(id, "say `stork`")
	title := shortMarkup + "\u202eeltit " + strings.Repeat("long", 30)
	u := t.portal.UI("")
	u.Send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocol_version":"0","client":{"name":"t","version":"1"}}}`)
	u.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"portal.session.rename","params":{"session_id":%q,"title":%s}}`, id, literal(title)))
	w := t.watch("/#/s/" + id)
	w.shows("h1", shortMarkup+"eltit")
	w.shows(".subtitle", shortMarkup+"‹U+202E›gpj")
	w.shows(".row-title", shortMarkup+"eltit")
	w.shows(".rail-label", shortMarkup+"‹U+202E›gpj")
	w.Wait(`document.title.includes("eltit")`)
	w.holds()

	w.Type(portaltest.ID("search"), "heron")
	w.shows(".row-detail mark", "heron")
	w.shows(".row-detail", shortMarkup)
	w.holds()
	w.Do(chromedp.Navigate(t.portal.URL + "/#/"))
	w.Click(portaltest.ID("model"))
	w.shows(".chip-menu:popover-open", `<img src=x onerror=hit=1>`, "turned‹U+202E›gnp")
	w.holds()
	w.Click(portaltest.ID("chip-directory"))
	w.shows("#directories", shortMarkup+"‹U+202E›gpj")
	w.holds()
	w.Do(chromedp.Navigate(t.portal.URL + "/#/status"))
	w.shows(portaltest.ID("status-page"), "<b>evil", `<img src=x onerror=hit=1>`)
	w.holds()
	w.Do(chromedp.KeyEvent("k", chromedp.KeyModifiers(chromedp.ModifierCtrl)))
	w.shows(portaltest.ID("palette"), shortMarkup+"eltit")
	w.holds()
}

func hugeContent(t stage) {
	id := t.portal.StartSession(t.TempDir(), "permissions=allow&interactive=true")
	w := t.watch("/#/s/" + id)
	deep := strings.Repeat("> ", 3000) + "deep " + strings.Repeat("[", 3000) + strings.Repeat("*a ", 3000) + "\n\n" + strings.Repeat("- ", 2000) + "x\n\n| " +
		strings.Repeat("a|", 400) + "\n|" + strings.Repeat("-|", 400) + "\n" + strings.Repeat("|b\n", 400)
	for _, prompt := range []string{
		"run `head -c 1000000 /dev/zero | tr '\\0' a`, run `seq 10000` and say `done`",
		"think about " + fence(deep) + " say `done`",
		"think about " + fence(strings.Repeat("a line\n\n", 10_000)) + " say `done`",
		"say " + fence(strings.Repeat("m-1", 1<<20/3)),
	} {
		t.portal.Run(id, prompt)
		w.unfold()
		w.holds()
	}
}

// fence quotes a text for the demo model.
func fence(text string) string {
	if !strings.ContainsAny(text, "`\n") {
		return "`" + text + "`"
	}
	ticks := "```"
	for strings.Contains(text, ticks) {
		ticks += "`"
	}
	return ticks + "\n" + text + "\n" + ticks
}

// witness is a tab that detects executed content.
type witness struct {
	*portaltest.Browser
	t      *testing.T
	own    string // address of the portal
	mu     sync.Mutex
	seen   int
	faults []string
}

// watch opens an address of the portal, and records events from the start.
func (s stage) watch(place string) *witness {
	s.Helper()
	w := &witness{Browser: s.chromium.Open(s.T, "about:blank"), t: s.T, own: s.portal.URL}
	require.NoError(s, chromedp.Listen(w.Context, w.hear))
	desktop(w.Browser)
	w.Do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, cdppage.AddScriptToEvaluateOnNewDocument, cdppage.AddScriptToEvaluateOnNewDocumentParams{Source: recorder})
		return err
	}), chromedp.Navigate(s.portal.URL+place))
	return w
}

// recorder runs before the page.
const recorder = `violations = [];
addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile + ":" + e.lineNumber));`

func (w *witness) hear(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *cdppage.EventJavascriptDialogOpening:
		w.faults = append(w.faults, "a dialog: "+e.Message)
	case *network.EventRequestWillBeSent:
		w.seen++
		if !strings.HasPrefix(e.Request.URL, w.own+"/") && !strings.HasPrefix(e.Request.URL, "data:") {
			w.faults = append(w.faults, "a request: "+e.Request.URL)
		}
	}
}

// shows waits until the page shows all texts.
func (w *witness) shows(selector string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.WaitText(selector, text)
	}
}

// unfold opens all details.
func (w *witness) unfold() {
	w.Do(chromedp.Evaluate[chromedp.Void](`for (const d of document.querySelectorAll("details")) d.open = true`))
}

// holds checks that nothing was executed, and that the page still works and has its layout.
func (w *witness) holds() {
	w.t.Helper()
	for _, size := range []func(*portaltest.Browser){phone, desktop} {
		size(w.Browser)
		for _, fault := range evaluate[[]string](w.t, w.Browser, audit) {
			assert.Fail(w.t, fault)
		}
		assert.True(w.t, evaluate[bool](w.t, w.Browser, react), "the page responds") // within the timeout of a step
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	assert.Empty(w.t, w.faults)
	assert.NotZero(w.t, w.seen, "requests are recorded")
}

// react is true once an event was handled and laid out.
const react = `new Promise((done) => {
  const field = document.querySelector("[data-testid=prompt], [data-testid=search]");
  field.addEventListener("input", () => setTimeout(() => done(document.body.offsetHeight > 0)), { once: true });
  field.value += "x";
  field.dispatchEvent(new Event("input", { bubbles: true }));
  field.value = "";
})`

// audit lists forbidden content.
const audit = `(() => {
  const faults = [];
  const name = (e) => e.outerHTML.slice(0, 200);
  if ("hit" in globalThis) faults.push("a script ran");
  faults.push(...violations.map((v) => "a violation: " + v));
  if (/[\u202a-\u202e\u2066-\u2069]/.test(document.title + document.body.textContent)) faults.push("a text is turned around");
  for (const e of document.querySelectorAll("*")) {
    const made = e.closest(".markdown, .part, .tail, .detail");
    for (const { name: attribute, value } of e.attributes) {
      if (/^on|^(srcdoc|action|formaction|ping|srcset|poster|background|data|xlink:href)$/i.test(attribute)) faults.push(attribute + " at " + name(e));
      if (made && e !== made && /^(style|id|name|src)$/.test(attribute)) faults.push(attribute + " in " + name(e));
      if (attribute === "href" && e.matches("a") && !/^(https?|mailto):/.test(e.href)) faults.push("an address " + value);
    }
    if (e.matches("a") && e.origin !== location.origin && !(e.target === "_blank" && e.relList.contains("noopener"))) faults.push("a link that does not open elsewhere: " + name(e));
    if (e.matches("iframe, object, embed, base, style, math, template, noscript *, audio, video, link:not(head > *), meta:not(head > *), script:not(head > *)")) faults.push("an element " + name(e));
    if (e.matches("img") && new URL(e.src).origin !== location.origin) faults.push("an image " + e.src);
    const style = getComputedStyle(e);
    const scrolls = /auto|scroll/.test(style.overflowX) && e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0;
    if (scrolls && !e.matches("pre, .file-body, .part, .table, .detail, .composer-chips, textarea, input")) faults.push("it scrolls sideways by " + (e.scrollWidth - e.clientWidth) + ": " + name(e));
  }
  for (const e of [document.documentElement, document.body]) {
    if (e.scrollWidth > innerWidth) faults.push("the document is " + e.scrollWidth + " wide in " + innerWidth);
  }
  for (const id of ["view", "rail", "offline", "storage", "icon"]) if (document.querySelectorAll("#" + id).length !== 1) faults.push("clobbered: " + id);
  if (!document.querySelector("main").checkVisibility()) faults.push("the page is hidden");
  return faults;
})()`

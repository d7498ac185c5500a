package code_test

import (
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs/studio/code"
)

// inApp puts statements into an otherwise valid component.
func inApp(statements string) string {
	return "function App() {\n" + statements + "\nreturn <p>Hello</p>;\n}"
}

func TestForbiddenCodeIsRejected(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"eval", inApp(`eval("1")`), "eval is not allowed"},
		{"eval in a comma expression", inApp(`(0, eval)("1")`), "eval is not allowed"},
		{"eval before a comma in typeof", inApp("typeof (eval('x'), y)"), "eval is not allowed"},
		{"eval before a comma in a comparison", inApp("(eval('x'), window) === y"), "eval is not allowed"},
		{"eval before a property of window", inApp("(eval('x'), window).innerWidth"), "eval is not allowed"},
		{"eval before a pattern", inApp("const { innerWidth } = (eval('x'), window)"), "eval is not allowed"},
		{"eval under another name", inApp(`const e = eval`), "eval is not allowed"},
		{"eval of globalThis", inApp(`globalThis.eval("1")`), "eval is not allowed"},
		{"eval of self", inApp(`self["eval"]("1")`), "eval is not allowed"},
		{"eval in concatenated text", inApp(`window["ev" + "al"]("1")`), "eval is not allowed"},
		{"eval in a template", inApp("window[`ev${'al'}`]('1')"), "eval is not allowed"},
		{"eval with escapes", inApp(`\u0065val("1")`), "eval is not allowed"},
		{"eval with escapes in text", inApp(`window["\x65val"]("1")`), "eval is not allowed"},
		{"eval of a window of a window", inApp(`window.self.globalThis.eval("1")`), "eval is not allowed"},
		{"eval of the window of a document", inApp(`document.defaultView.eval("1")`), "eval is not allowed"},
		{"eval destructured from window", inApp(`const { eval: e } = window`), "eval of window is not allowed"},
		{"a computed property of window", inApp(`window[name]()`), "a computed property of window or document"},
		{"window under another name", inApp(`const w = window; w.x()`), "window as a value"},
		{"window in a rest pattern", inApp(`const { a, ...w } = window`), "window as a value"},
		{"window destructured from window", inApp(`const { self } = window`), "self of window"},
		{"window as an argument", inApp(`f(globalThis)`), "globalThis as a value"},
		{"with", `function App() { with (document) { } return null }`, "ith"},
		{"the Function constructor", inApp(`new Function("return 1")()`), "Function is not allowed"},
		{"the Function constructor called", inApp(`Function("return 1")()`), "Function is not allowed"},
		{"the Function of window", inApp(`window?.Function("return 1")`), "Function is not allowed"},
		{"a constructor of a constructor", inApp(`const f = [].constructor.constructor; f("x")()`), "constructor.constructor is not allowed"},
		{"a constructor of a constructor in brackets", inApp(`[]["constructor"]["constructor"]("x")()`), "constructor.constructor is not allowed"},
		{"a call of constructor", inApp(`(() => {}).constructor("x")()`), "a call of constructor is not allowed"},
		{"new constructor", inApp(`new (async () => {}).constructor("x")`), "a call of constructor is not allowed"},
		{"a timer with text", inApp(`setTimeout("alert(1)", 1)`), "setTimeout with text is not allowed"},
		{"a timer of window with text", inApp("window.setInterval(`f(${x})`, 1)"), "setInterval with text is not allowed"},
		{"a timer with text and more", inApp(`setTimeout("f(" + x + ")", 1)`), "setTimeout with text is not allowed"},
		{"import", "import x from 'x';\n" + inApp(""), "import and export is not allowed"},
		{"import of React", "import React, { useState } from 'react';\n" + inApp(""), "import and export is not allowed"},
		{"import of a type used as a value", "import { x } from 'x';\nconst y: number = 1;\n" + inApp(""), "import and export is not allowed"},
		{"import for side effects", "import 'x';\n" + inApp(""), "import and export is not allowed"},
		{"dynamic import", inApp(`import("x")`), "import() is not allowed"},
		{"import.meta", inApp(`import.meta.url`), "import and export is not allowed"},
		{"export", "export " + inApp(""), "import and export is not allowed"},
		{"export default", "export default " + inApp(""), "import and export is not allowed"},
		{"export of names", inApp("") + "\nexport { App }", "import and export is not allowed"},
		{"the automatic JSX runtime, which imports", "/** @jsxRuntime automatic */\n" + inApp(""), "import and export is not allowed"},
		{"require", inApp(`const React = require("react")`), "require is not allowed"},
		{"module.exports", inApp("") + "\nmodule.exports = App", "module is not allowed"},
		{"cookies", inApp(`document.cookie = "a=b"`), "cookie of document is not allowed"},
		{"cookies of window", inApp(`window.document["cookie"]`), "cookie of document is not allowed"},
		{"cookies destructured from document", inApp(`const { cookie } = document`), "cookie of document is not allowed"},
		{"cookies in concatenated text", inApp(`document["coo" + "kie"]`), "cookie of document is not allowed"},
		{"a computed property of document", inApp(`document[x]`), "computed"},
		{"parent", inApp(`parent.location`), "parent is not allowed"},
		{"the parent of window", inApp(`window.parent.location`), "parent is not allowed"},
		{"top", inApp(`window.top`), "top is not allowed"},
		{"top as a global", inApp(`top.location = "x"`), "top is not allowed"},
		{"opener", inApp(`window.opener`), "opener is not allowed"},
		{"frames", inApp(`window.frames[0]`), "frames is not allowed"},
		{"messages to the parent", inApp(`window.parent.postMessage("x", "*")`), "parent is not allowed"},
		{"messages", inApp(`postMessage("x", "*")`), "postMessage is not allowed"},
		{"WebSocket", inApp(`new WebSocket("ws://x")`), "WebSocket is not allowed"},
		{"XMLHttpRequest", inApp(`new window.XMLHttpRequest()`), "XMLHttpRequest is not allowed"},
		{"EventSource", inApp(`new EventSource("x")`), "EventSource is not allowed"},
		{"beacons", inApp(`navigator.sendBeacon("x")`), "sendBeacon is not allowed"},
		{"service workers", inApp(`navigator.serviceWorker.register("x")`), "serviceWorker is not allowed"},
		{"workers", inApp(`new Worker("x")`), "Worker is not allowed"},
		{"localStorage", inApp(`localStorage.getItem("x")`), "localStorage is not allowed"},
		{"sessionStorage", inApp(`window.sessionStorage.x = 1`), "sessionStorage is not allowed"},
		{"innerHTML", inApp(`ref.current.innerHTML = "<b>"`), "innerHTML is not allowed"},
		{"innerHTML in brackets", inApp(`ref.current["innerHTML"] = "<b>"`), "innerHTML is not allowed"},
		{"insertAdjacentHTML", inApp(`ref.current.insertAdjacentHTML("x", "<b>")`), "insertAdjacentHTML is not allowed"},
		{"dangerouslySetInnerHTML", `const App = () => <p dangerouslySetInnerHTML={{ __html: "x" }} />`, "dangerouslySetInnerHTML is not allowed"},
		{"dangerouslySetInnerHTML spread", `const App = () => <p {...{ dangerouslySetInnerHTML: x }} />`, "dangerouslySetInnerHTML is not allowed"},
		{"a script", `const App = () => <script src="x" />`, "the element script is not allowed"},
		{"a script created by React", inApp(`React.createElement("SCRIPT")`), "the element SCRIPT is not allowed"},
		{"a script created by document", inApp(`document.createElement("scr" + "ipt")`), "the element script is not allowed"},
		{"a frame", `const App = () => <iframe src="x" />`, "the element iframe is not allowed"},
		{"document.write", inApp(`document.write("x")`), "write of document is not allowed"},
		{"eval in a class", "class App extends React.Component { x = eval('1'); render() { return null } }", "eval is not allowed"},
		{"eval in a default", "function App({ a = eval('1') }) { return null }", "eval is not allowed"},
		{"eval in a computed key", inApp(`({ [eval("1")]: 1 })`), "eval is not allowed"},
		{"eval in a label and a switch", inApp(`x: switch (1) { case eval("1"): break x }`), "eval is not allowed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := code.Check(c.source)
			var faults code.Faults
			require.ErrorAs(t, err, &faults)
			assert.Contains(t, err.Error(), c.want)
			_, err = code.Build(c.source)
			assert.ErrorAs(t, err, &faults)
		})
	}
}

func TestLookalikesAreAccepted(t *testing.T) {
	for _, c := range []struct{ name, source string }{
		{"text", inApp(`const x = "eval(1) new Function document.cookie import('x') localStorage"`)},
		{"comments", inApp("// eval(1)\n/* window.parent.postMessage() */")},
		{"text of elements", `const App = () => <p>Don't eval(x), import {"export"} innerHTML: window.top</p>`},
		{"regular expressions", inApp(`/eval\(window\.top\)/.test("x")`)},
		{"templates", inApp("const x = `eval(${1 + 1}) localStorage`")},
		{"a local variable named top", inApp(`const top = 1; let parent = top, frames = [parent]; frames.map(f => f)`)},
		{"a variable declared later", inApp(`const f = () => opener; var opener = 1`)},
		{"parameters named like that", `function Row({ parent, top, module }) { return <i>{parent}{top}{module}</i> } function App() { return <Row /> }`},
		{"properties named like that", inApp(`node.parent.top; rect.top; x.opener; category.parent; order.cookie; film.frames; r.eval; user.localStorage`)},
		{"keys named like that", inApp(`({ eval: 1, parent: 2, top: 3, cookie: 4, Function: 5, import: 6, export: 7, constructor: 8 })`)},
		{"styles", `const App = () => <p style={{ position: "absolute", top: 0 }} />`},
		{"a class with a constructor", `class App extends React.Component { constructor(props) { super(props); this.state = {} } render() { return <p /> } }`},
		{"the name of a constructor", inApp(`const name = error.constructor.name`)},
		{"timers", inApp(`const id = setTimeout(() => {}, 10); clearTimeout(id); setInterval(tick, 10); window.setTimeout(function () {}, 1)`)},
		{"fetch", inApp(`fetch("https://api.example/x?parent=1").then(r => r.json()); window.fetch("/x")`)},
		{"members of window", inApp(`window.addEventListener("resize", f); window.innerWidth; window["scrollTo"](0, 0)`)},
		{"checks whether window exists", inApp(`typeof window !== "undefined" && typeof localStorage`)},
		{"comparing with window", inApp(`event.target === window`)},
		{"names destructured from window", inApp(`const { innerWidth, innerHeight: h = 1 } = window`)},
		{"members of document", inApp(`document.title = "x"; document.getElementById("x").focus(); document.createElement("a")`)},
		{"computed properties", inApp(`row[column]; ({})["a" + b]; list[0]`)},
		{"a component named Script", `function Script() { return <p /> } const App = () => <Script parent={1} />`},
		{"text that says script", inApp(`const x = "<script>alert(1)</script>"`)},
		{"types", "interface Pet { id: number; parent?: Pet }\ntype F<T> = (x: T) => void;\nenum Color { Red }\nfunction App(): any { const [x, set] = React.useState<Pet | null>(null); return <p>{(x as any)!.id}{Color.Red}</p> }"},
		{"imports of types", "import type { Pet } from './pet';\n" + inApp("")},
		{"JSX that is not TSX", `const a = 1, b = 2, c = 3; function App() { const x = a < b > (c); return <p>{x}</p> }`},
		{"new syntax", inApp(`const a = b?.c?.[d]?.() ?? 1; a ||= 2; x ??= 1; const n = 1_000n; const re = /(?<y>\d+)/dgs; async function* g() { for await (const z of w) yield* z }`)},
		{"new syntax of classes", `class Store { #x = 1; static y = 2; static { this.z = 3 } get x() { return this.#x } has(o) { return #x in o } async *[Symbol.iterator]() {} } function App() { return <p /> }`},
		{"try, labels, and patterns", inApp(`try { a() } catch { } finally { } outer: for (const [i, { j = 1, ...rest }] of k) { continue outer } do { } while (0); if (a) b; else c; throw new Error("x")`)},
		{"fragments and spreads", `const App = (props) => <><p {...props} key="a">{...[1]}</p>{/* a comment */}<svg:a xlink:href="#" data-x aria-label="&amp;" /></>`},
		{"hooks destructured from React", "const { useState, useEffect } = React;\n" + inApp("const [a, setA] = useState(0); useEffect(() => () => {}, []);")},
		{"memo", "const Row = React.memo(({ a }) => <i>{a}</i>);\nconst App = React.memo(function App() { return <Row a={1} /> })"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := code.Check(c.source)
			require.NoError(t, err)
			built, err := code.Build(c.source)
			require.NoError(t, err)
			assert.NotContains(t, built, "</script")
		})
	}
}

func TestSyntaxErrorsHaveLineAndColumn(t *testing.T) {
	_, err := code.Check("function App() {\n  return <p>;\n}\n")
	var faults code.Faults
	require.ErrorAs(t, err, &faults)
	assert.Equal(t, 3, faults[0].Line)
	assert.Positive(t, faults[0].Column)
	assert.NotEmpty(t, faults[0].Text)
	assert.Regexp(t, `^\d+:\d+: `, err.Error())
}

func TestLimitsAndNonPrograms(t *testing.T) {
	for _, c := range []struct{ name, source, want string }{
		{"empty", " \n", "is empty"},
		{"too long", strings.Repeat(" ", 2<<20) + "x", "is longer than 2097152 bytes"},
		{"not UTF-8", "x = '\xff'", "is not UTF-8"},
		{"too many tokens", strings.Repeat("a;", 25_001), "is too large to be checked"},
		{"nested too deeply", strings.Repeat("(", 1500), "nested deeper than 1000"},
		{"nested too deeply after text", strings.Repeat(`f(")",`, 2_000) + "1" + strings.Repeat(")", 2_000), "cannot be checked"},
		{"too many operators", strings.Repeat("!", 5_000) + "x", "cannot be checked: too many nested expressions"},
		{"too many keywords", strings.Repeat("typeof ", 5_000) + "x()", "cannot be checked: too many nested expressions"},
		{"too many arrow functions", strings.Repeat("a=>", 5_000) + "1", "cannot be checked: too many nested expressions"},
		{"many arrow functions", strings.Repeat("a=>", 450) + "1", "App is missing"},
		{"too many elements", "const App = () => " + strings.Repeat("<a>", 13_000) + strings.Repeat("</a>", 13_000), "is too large"},
		{"no App", "function Main() { return <p /> }", "App is missing"},
		{"an unfinished App", "const App =", "Unexpected end of file"},
		{"App only inside", "function Main() { function App() { return <p /> } }", "App is missing"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := code.Check(c.source)
			require.ErrorContains(t, err, c.want)
			_, err = code.Build(c.source)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestCheckNamesComponents(t *testing.T) {
	source := `
const API = "https://x", Context = React.createContext(null), LIMIT = () => 10;
class Store { load() { return 1 } }
class Table extends React.Component { render() { return <table /> } }
const Row = React.memo(({ a }) => <tr>{a}</tr>);
const Cell = React.forwardRef(function (props, ref) { return <td ref={ref} /> });
const Named = function () { return null };
function Helper() { return 1 }
function format() { return <b /> }
function App() { const Inner = () => <i />; return <Table><Row /><Cell /><Named /><Inner /></Table> }
`
	got, err := code.Check(source)
	require.NoError(t, err)
	assert.Equal(t, []string{"Table", "Row", "Cell", "Named", "Inner", "App"}, got)
}

func TestBuildReturnsSelfRenderingScript(t *testing.T) {
	const source = "const App: any = () => <><p title=\"é\">Hello</p></>;\n// </script>\nconst s = '</script>';"
	built, err := code.Build(source)
	require.NoError(t, err)
	assert.Equal(t, `(() => {
  const App = () => /* @__PURE__ */ React.createElement(React.Fragment, null, /* @__PURE__ */ React.createElement("p", { title: "\xE9" }, "Hello"));
  window.__GeneratedComponent = App;
  if (typeof React !== "undefined" && typeof ReactDOM !== "undefined" && document.getElementById("root")) {
    ReactDOM.createRoot(document.getElementById("root")).render(React.createElement(App));
  }
})();
`, built)
	again, err := code.Build(source + code.Mount(source))
	require.NoError(t, err)
	assert.Equal(t, built, again, "the mount is added once")
}

// Apps wrap the code in an IIFE, from which esbuild drops unused code.
func TestMountedCodeSurvivesIIFE(t *testing.T) {
	iife := func(source string) string {
		result := api.Transform(source, api.TransformOptions{Format: api.FormatIIFE, Loader: api.LoaderJSX})
		require.Empty(t, result.Errors)
		return string(result.Code)
	}
	for _, source := range []string{"function App() { return <p>Hello</p>; }", "function App() { return <p>Hello</p>; }\n", "const App = () => <p>Hello</p>;\n\n"} {
		assert.NotContains(t, iife(source), "Hello", "without the mount, everything is dropped")
		whole := source + code.Mount(source)
		assert.Contains(t, iife(whole), "Hello")
		assert.Contains(t, iife(whole), "window.__GeneratedComponent = App;")
		assert.Empty(t, code.Mount(whole))
		assert.Empty(t, code.Mount(strings.TrimSpace(whole)))
		assert.Equal(t, strings.TrimSpace(source), strings.TrimSpace(code.WithoutMount(whole)))
		components, err := code.Check(whole)
		require.NoError(t, err)
		assert.Equal(t, []string{"App"}, components)
	}
	assert.Equal(t, "function App() {}", code.WithoutMount("function App() {}"))
}

func TestFindReturnsCodeOfAnswer(t *testing.T) {
	const fence = "```"
	for _, c := range []struct{ name, answer, want string }{
		{"one block", "Here:\n" + fence + "jsx\nfunction App() {}\n" + fence + "\nDone.", "function App() {}\n"},
		{"the longest block", fence + "tsx\nshort\n" + fence + "\n" + fence + "JavaScript\nmuch longer\n" + fence, "much longer\n"},
		{"not a block in another language", fence + "json\n{\"a\": \"long long long\"}\n" + fence + "\n" + fence + "js\nx\n" + fence, "x\n"},
		{"a marked block before a longer unmarked one", fence + "\nnpm install something\n" + fence + "\n" + fence + "jsx\nx\n" + fence, "x\n"},
		{"an unmarked block", fence + "\nfunction App() {}\n" + fence, "function App() {}\n"},
		{"a truncated block", fence + "jsx\nfunction App() {", "function App() {"},
		{"other fences", "~~~~jsx title=a\n" + fence + "\n~~~\nx\n~~~~\n", fence + "\n~~~\nx\n"},
		{"Windows line breaks", fence + "jsx\r\nx\r\n" + fence + "\r\n", "x\n"},
		{"the whole answer", "const { useState } = React;\nfunction App() {}\n", "const { useState } = React;\nfunction App() {}\n"},
		{"an answer without code", "Which table do you mean?", ""},
		{"an answer that mentions App", "I would write function App there.", ""},
		{"a block of another language only", fence + "python\nx\n" + fence, ""},
		{"an empty block", fence + "jsx\n\n" + fence, ""},
		{"nothing", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := code.Find(c.answer)
			assert.Equal(t, c.want, got)
			assert.Equal(t, c.want != "", ok)
		})
	}
}

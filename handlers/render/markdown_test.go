package render_test

import (
	"strings"
	"testing"

	"github.com/copilot-portal/portal/handlers/render"
	"github.com/stretchr/testify/assert"
)

const linked = `rel="` + render.Relation + `" target="_blank"`

func TestMarkdownBecomesHTML(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                 {"", ""},
		"blank lines":             {"\n \n\n", ""},
		"a paragraph":             {"a *b* **c** `d` ~~e~~", "<p>a <em>b</em> <strong>c</strong> <code>d</code> <del>e</del></p>\n"},
		"headings":                {"# a\n## b\n### c\n#### d\n###### e", "<h3>a</h3>\n<h4>b</h4>\n<h5>c</h5>\n<h6>d</h6>\n<h6>e</h6>\n"},
		"a heading's id":          {"# a {#id}", "<h3>a {#id}</h3>\n"},
		"tasks":                   {"- [x] a\n- [ ] b", "<ul>\n<li><input checked=\"\" disabled=\"\" type=\"checkbox\"> a</li>\n<li><input disabled=\"\" type=\"checkbox\"> b</li>\n</ul>\n"},
		"a list that starts at 7": {"7. a\n8. b", "<ol start=\"7\">\n<li>a</li>\n<li>b</li>\n</ol>\n"},
		"a table": {
			"|a|b|\n|:-|-:|\n|c|d|",
			"<table>\n<thead>\n<tr>\n<th align=\"left\">a</th>\n<th align=\"right\">b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td align=\"left\">c</td>\n<td align=\"right\">d</td>\n</tr>\n</tbody>\n</table>\n",
		},
		"a table of long rules":       {"a | b\n" + strings.Repeat("-", 80) + " | ---\nc | d", "<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n<td>c</td>\n<td>d</td>\n</tr>\n</tbody>\n</table>\n"},
		"a rule":                      {"* * * * *", "<hr>\n"},
		"a long rule":                 {strings.Repeat("* ", 200), "<hr>\n"},
		"a link":                      {"[a](https://b.c/d?e&f)", `<p><a href="https://b.c/d?e&amp;f" ` + linked + ">a</a></p>\n"},
		"a link with a title":         {`[a](https://b.c "d")`, `<p><a href="https://b.c" ` + linked + ">a</a></p>\n"},
		"an address":                  {"https://b.c.", `<p><a href="https://b.c" ` + linked + ">https://b.c</a>.</p>\n"},
		"a mail address":              {"<a@b.c>", `<p><a href="mailto:a@b.c" ` + linked + ">a@b.c</a></p>\n"},
		"a link defined later":        {"[a]\n\n[a]: https://b.c", `<p><a href="https://b.c" ` + linked + ">a</a></p>\n"},
		"a link defined before":       {"[a]: https://b.c\n\ntext\n\n[a]", "<p>text</p>\n" + `<p><a href="https://b.c" ` + linked + ">a</a></p>\n"},
		"a link to a file":            {"[a](b/c.go#L1)", "<p>a</p>\n"},
		"an image":                    {"![a](https://b.c/d.png)", `<p><a href="https://b.c/d.png" ` + linked + ` class="image">a</a></p>` + "\n"},
		"an image without text":       {"![](https://b.c/d.png)", `<p><a href="https://b.c/d.png" ` + linked + ` class="image">https://b.c/d.png</a></p>` + "\n"},
		"an image in a link":          {"[![a](https://b.c/d.png)](https://e.f)", `<p><a href="https://e.f" ` + linked + ">a</a></p>\n"},
		"an address in a link":        {"[a <https://b.c>](https://e.f)", `<p><a href="https://e.f" ` + linked + ">a https://b.c</a></p>\n"},
		"code":                        {"```go\nfunc f() {}\n```", "<pre class=\"code\" data-language=\"go\"><code><span class=\"hl-k\">func </span><span class=\"hl-f\">f</span>() {}\n</code></pre>\n"},
		"code in an unknown language": {"~~~zzz a b\n<x>\n~~~", "<pre class=\"code\" data-language=\"zzz\"><code>&lt;x&gt;\n</code></pre>\n"},
		"unterminated code":           {"```\na\n\nb", "<pre class=\"code\"><code>a\n\nb</code></pre>\n"},
		"code without blank lines":    {"a\n```\nb\n```\nc", "<p>a</p>\n<pre class=\"code\"><code>b\n</code></pre>\n<p>c</p>\n"},
		"indented code":               {"    a\n\n    b", "<pre class=\"code\"><code>a\n\nb\n</code></pre>\n"},
		"code in a list":              {"1. a\n   ```\n   b\n\n   c\n   ```\n2. d", "<ol>\n<li>a\n<pre class=\"code\"><code>b\n\nc\n</code></pre>\n</li>\n<li>d</li>\n</ol>\n"},
		"code after a list":           {"1. a\n  ```\nb\n\nc\n  ```", "<ol>\n<li>a</li>\n</ol>\n<pre class=\"code\"><code>b\n\nc\n</code></pre>\n"},
		"a list with blank lines":     {"- a\n\n- b\n\nc", "<ul>\n<li>\n<p>a</p>\n</li>\n<li>\n<p>b</p>\n</li>\n</ul>\n<p>c</p>\n"},
		"carriage returns":            {"a\r\n\r\nb\r\n", "<p>a</p>\n<p>b</p>\n"},
		"a quote":                     {"> a\nb\n\nc", "<blockquote>\n<p>a\nb</p>\n</blockquote>\n<p>c</p>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := render.Markdown(c.in)
			assert.Equal(t, c.want, out)
			checkHTML(t, out)
		})
	}
}

func TestHostileMarkdownIsNeutralized(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, want string }{
		"a script":                     {"<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n"},
		"a script over lines":          {"<script>\n\nalert(1)\n</script>", "<p>&lt;script&gt;</p>\n<p>alert(1)\n&lt;/script&gt;</p>\n"},
		"a handler":                    {`<img src=x onerror=alert(1)>`, "<p>&lt;img src=x onerror=alert(1)&gt;</p>\n"},
		"a style":                      {"<style>*{display:none}</style>", "<p>&lt;style&gt;*{display:none}&lt;/style&gt;</p>\n"},
		"an SVG":                       {"<svg onload=alert(1)>", "<p>&lt;svg onload=alert(1)&gt;</p>\n"},
		"a comment":                    {"<!-- a -->", "<p>&lt;!-- a --&gt;</p>\n"},
		"a script as URL":              {"[a](javascript:alert(1))", "<p>a</p>\n"},
		"in capitals":                  {"[a](JaVaScRiPt:alert(1))", "<p>a</p>\n"},
		"with an entity":               {"[a](&#106;avascript:alert(1))", "<p>a</p>\n"},
		"with a line feed":             {"[a](java&#10;script:alert(1))", "<p>a</p>\n"},
		"with a tab":                   {"[a](<java\tscript:alert(1)>)", "<p>a</p>\n"},
		"with a NUL":                   {"[a](\x00javascript:alert(1))", "<p>a</p>\n"},
		"with a space":                 {"[a](< javascript:alert(1)>)", "<p>a</p>\n"},
		"with escapes":                 {"[a](%6aavascript:alert(1)) [b](\\javascript:alert(1)) [c](java&Tab;script:alert(1))", "<p>a b c</p>\n"},
		"as a reference":               {"[a] [b][a] [c][]\n\n[a]: javascript:alert(1)\n[c]: <vbscript:x>", "<p>a b c</p>\n"},
		"around an image":              {"[![a](https://b.c/d.png)](javascript:alert(1))", "<p>a</p>\n"},
		"a blob":                       {"[a](blob:https://b.c/d) <blob:x>", "<p>a blob:x</p>\n"},
		"an id of the page":            {"# a {#view onclick=b}\n\n<a name=rail id=view>c</a>", "<h3>a {#view onclick=b}</h3>\n<p>&lt;a name=rail id=view&gt;c&lt;/a&gt;</p>\n"},
		"a form":                       {"<form action=x><input name=body autofocus></form>", "<p>&lt;form action=x&gt;&lt;input name=body autofocus&gt;&lt;/form&gt;</p>\n"},
		"data":                         {"[a](data:text/html;base64,PHN2Zz4=)", "<p>a</p>\n"},
		"an image of data":             {"![a](data:image/png;base64,AA==)", "<p>a</p>\n"},
		"a file":                       {"[a](file:///etc/passwd)", "<p>a</p>\n"},
		"VBScript in brackets":         {"<vbscript:alert(1)>", "<p>vbscript:alert(1)</p>\n"},
		"a relative URL":               {"[a](//b.c) [d](/e) [f](#g) [h](?i)", "<p>a d f h</p>\n"},
		"quotes in a URL":              {`[a](https://b.c/"onclick="alert(1))`, `<p><a href="https://b.c/%22onclick=%22alert(1)" ` + linked + ">a</a></p>\n"},
		"HTML as language":             {"```\"><script>\na\n```", "<pre class=\"code\"><code>a\n</code></pre>\n"},
		"entities as language":         {"```&quot;&gt;x\na\n```", "<pre class=\"code\"><code>a\n</code></pre>\n"},
		"a long language":              {"```" + strings.Repeat("a", 99) + "\na\n```", "<pre class=\"code\"><code>a\n</code></pre>\n"},
		"bidirectional text":           {"a\u202eb\u2066c", "<p>a‹U+202E›b‹U+2066›c</p>\n"},
		"bidirectional text by entity": {"a&#x202e;b", "<p>a‹U+202E›b</p>\n"},
		"bidirectional code":           {"```go\n/*\u202e*/\n```", "<pre class=\"code\" data-language=\"go\"><code><span class=\"hl-c\">/*‹U+202E›*/</span>\n</code></pre>\n"},
		"control characters":           {"a\x00\x07\x1b[31m\u0085\x7fb", "<p>a[31mb</p>\n"},
		"controls by entity":           {"a&#27;&#7;b", "<p>ab</p>\n"},
		"broken UTF-8":                 {"a\xff\xc3b", "<p>a��b</p>\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := render.Markdown(c.in)
			assert.Equal(t, c.want, out)
			checkHTML(t, out)
		})
	}
}

func TestLargeMarkdownIsShownAsText(t *testing.T) {
	t.Parallel()
	deep := ""
	for i := range 300 {
		deep += strings.Repeat(" ", 2*i) + "- a\n"
	}
	for name, in := range map[string]string{
		"a line of 1 MB":       strings.Repeat("a", 1<<20),
		"a line of HTML":       strings.Repeat("<b>", 1<<18),
		"brackets":             strings.Repeat("[", 100_000),
		"links in links":       strings.Repeat("[", 50_000) + strings.Repeat("](a)", 50_000),
		"100,000 stars":        strings.Repeat("*", 100_000),
		"stars apart":          strings.Repeat("*a ", 50_000),
		"strong in strong":     strings.Repeat("**", 20_000) + "a" + strings.Repeat("**", 20_000),
		"50,000 quotes":        strings.Repeat(">", 50_000),
		"quotes and a text":    strings.Repeat("> ", 1000) + "a",
		"lists in a line":      strings.Repeat("- ", 1000) + "a",
		"a table of 500 wide":  strings.Repeat("|a", 500) + "\n" + strings.Repeat("|-", 500) + "\n" + strings.Repeat("a\n", 500),
		"a paragraph of 64 KB": strings.Repeat(strings.Repeat("a", 99)+"\n", 700),
		"backticks":            strings.Repeat("`a``", 30_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := render.Markdown(in)
			checkHTML(t, out)
			assert.Contains(t, out, `<pre class="plain"><code>`)
			assert.Equal(t, strings.ReplaceAll(in, "\n", ""), strings.ReplaceAll(textOf(out), "\n", ""))
		})
	}
	out := render.Markdown(deep) // moderate nesting is rendered
	checkHTML(t, out)
}

func TestMarkdownIsParsedUpToOneMegabyte(t *testing.T) {
	t.Parallel()
	block := "A *word* and `code`" + strings.Repeat(" and more", 50) + ".\n\n"
	out := render.Markdown(strings.Repeat(block, 10<<20/len(block)))
	read, rest, _ := strings.Cut(out, `<pre class="plain">`)
	assert.InDelta(t, render.MaxMarkdown/len(block), strings.Count(read, "<em>word</em>"), 3)
	assert.NotContains(t, rest, "<em>")
	for shown := range strings.SplitSeq(rest, `<pre class="plain">`) {
		assert.Less(t, len(shown), render.MaxHTML)
	}
	assert.InDelta(t, 10<<20/len(block), strings.Count(textOf(out), "word"), 3)
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{
		"# a\n\n- b\n  - c\n\n```go\nfunc\n```\n> d\n\n|a|\n|-|\n|b|", "[a](javascript:b) ![c](http://d) <http://e>", "[a]: http://b\n[a] [a][] [c][a]",
		"<script>&#x202e;\x00\xff", "a\n---\n***\n1) b\n\t- c\n~~~x\n~~~", "[![a](http://b)](http://c) www.d.e f@g.h ~~i~~ - [ ] j", "[a <http://b>](http://c \"d\")", "~~~html\n<a b='c'>\n",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		checkHTML(t, render.Markdown(text))
	})
}

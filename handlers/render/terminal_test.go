package render_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/copilot-portal/portal/handlers/render"
	"github.com/stretchr/testify/assert"
)

func TestTerminalOutputIsRendered(t *testing.T) {
	t.Parallel()
	link := `<a href="https://a.b/c" rel="nofollow noreferrer noopener" target="_blank">d</a>`
	for name, c := range map[string]struct{ in, want string }{
		"nothing":                          {"", ""},
		"text":                             {"a <b> & \"c\"\n\nd/e\n", "a &lt;b&gt; &amp; &#34;c&#34;\n\u00a0\nd/e"},
		"colors":                           {"\x1b[31ma\x1b[1;92mb\x1b[0mc", `<span class="term-fg31">a</span><span class="term-fgi92 term-fg1">b</span>c`},
		"one of 256":                       {"\x1b[38;5;208;48;5;17ma", `<span class="term-fgx208 term-bgx17">a</span>`},
		"one of 16 million":                {"\x1b[38;2;255;0;1ma\x1b[48:2::0:0:255mb", `<span class="term-fgx196">a</span><span class="term-fgx196 term-bgx21">b</span>`},
		"a color of underlines":            {"\x1b[4:3;58;5;1ma", `<span class="term-fg4">a</span>`},
		"invalid colors":                   {"\x1b[38;9;1ma\x1b[999;38;5mb\x1b[38;2;1mc", `<span class="term-fg1">abc</span>`},
		"a carriage return":                {"10%\r20%\r100%\n", "100%"},
		"a backspace":                      {"ab\bc", "ac"},
		"a tab":                            {"a\tb", "a       b"},
		"an erased line":                   {"abc\r\x1b[Kd", "d"},
		"progress on two lines":            {"a 1\nb 1\n\x1b[2Aa 2\n\x1b[1Bc", "a 2\nb 1\nc"},
		"a saved position":                 {"a\x1b7bc\x1b8d", "adc"},
		"a link":                           {"\x1b]8;id=1;https://a.b/c\x1b\\d\x1b]8;;\ae", link + "e"},
		"a forbidden link":                 {"\x1b]8;;javascript:alert(1)\ad\x1b]8;;file:///etc/passwd\ae", "de"},
		"a broken link":                    {"\x1b]8;;https://a.b/\"><script>\ad\x1b]8;https://a\ae", "de"},
		"a title":                          {"\x1b]0;a\ab\x1b]2;c\x1b\\d", "bd"},
		"images":                           {"a\x1b]1337;File=name=YS5wbmc=;inline=1:AAAA\ab\x1b]1338;url=http://a/b.png;alt=c\ad\x1b]1339;url=javascript:x;content=e\af", "abdf"},
		"vendor sequences":                 {"a\x1b_bk;t=1\ab\x1bPq#0\x1b\\c\x1b^d\x1b\\e", "abce"},
		"a missing terminator":             {"a\x1b]0;b\nc", "a\nc"},
		"queries and settings":             {"\x1b[6n\x1b[?25l\x1b[?1049h\x1b[>c\x1b=\x1b(Ba\x1b[3;4rb\x1b[2Mc\x1b[!p", "abc"},
		"an escape at the end":             {"a\x1b", "a"},
		"a sequence at the end":            {"a\x1b[31", "a"},
		"an invalid sequence":              {"a\x1b[3\nb", "a\nb"},
		"far down":                         {"a\x1b[999999999Bb", "ab"},
		"far right":                        {"a\x1b[999999999Cb", "a" + strings.Repeat(" ", 158) + "b"},
		"far up and left":                  {"a\x1b[99999999999999999999A\x1b[999999999Db", "b"},
		"many parameters":                  {"a\x1b[" + strings.Repeat("1;", 1000) + "mb", "ab"},
		"bidirectional text":               {"a\u202eb", "a‹U+202E›b"},
		"NUL, bells, C1 and invalid UTF-8": {"a\x00\ab\u009b31mc\xff", "ab31mc�"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := render.Terminal(c.in, 0)
			assert.Equal(t, `<pre class="terminal"><code>`+c.want+"</code></pre>\n", out)
			checkHTML(t, out)
		})
	}
}

func TestTerminalShowsLastLines(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "\x1b[32mline %d\n", i)
	}
	out := render.Terminal(b.String(), 2)
	assert.Equal(t, `<pre class="terminal"><code><span class="term-fg32">line 4998</span>`+"\n"+`<span class="term-fg32">line 4999</span></code></pre>`+"\n", out)

	out = render.Terminal(b.String(), 0)
	checkHTML(t, out)
	assert.Contains(t, out, `<p class="note">The first 3000 lines are omitted.</p>`)
	assert.Equal(t, render.MaxScreen, strings.Count(out, "term-fg32"))

	out = render.Terminal(strings.Repeat("x", 1000)+"\n"+strings.Repeat(strings.Repeat("y", 100)+"\n", render.MaxTerminal/100), 0)
	assert.Contains(t, out, `<p class="note">The first 6 KB are omitted.</p>`)
	assert.Equal(t, "a\nb\n", textOf(render.Terminal("a\nb", 40)))
}

func TestTerminalOutputIsBounded(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a line of 1 MB":    strings.Repeat("x", 1<<20),
		"down and up":       strings.Repeat("\x1b[99B\x1b[99Ax", 1<<17),
		"escapes":           strings.Repeat("\x1b", 1<<20),
		"brackets":          strings.Repeat("\x1b[", 1<<19),
		"digits":            "\x1b[" + strings.Repeat("1", 1<<20),
		"homes":             strings.Repeat("\x1b[Hx", 1<<17),
		"lines":             strings.Repeat("\n", 1<<20),
		"to the right":      strings.Repeat("\x1b[160Gx\n", 1<<17),
		"erasing":           strings.Repeat("\x1b[2J\x1b[3J", 1<<17),
		"links":             strings.Repeat("\x1b]8;;http://"+strings.Repeat("a", 1000)+"\aa", 600),
		"open links":        strings.Repeat("\x1b]8;;", 1<<17),
		"a style for each":  strings.Repeat("\x1b[1;3;4;5;9;38;5;200;48;5;201mx\x1b[0my", 1<<12),
		"turned":            strings.Repeat("\u202e", 1<<18),
		"a title of 1 MB":   "\x1b]0;" + strings.Repeat("a", 1<<20),
		"an image of 1 MB":  "\x1b]1337;File=name=YS5wbmc=;inline=1:" + strings.Repeat("A", 1<<20) + "\a",
		"reverse new lines": strings.Repeat("a\n\x1bM\x1bM\x1b7\x1b8", 1<<16),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := render.Terminal(in, 0)
			checkHTML(t, out)
			assert.Less(t, len(out), render.MaxHTML)
			assert.LessOrEqual(t, strings.Count(out, "\n"), render.MaxScreen+2)
		})
	}
}

func FuzzTerminal(f *testing.F) {
	f.Add("\x1b[31ma\x1b[0m\r\n\x1b[2Ab\x1b[K\x1b]8;;http://c\ad\x1b]8;;\a\x1b7\x1b8\x1bM\te\b", 0)
	f.Add("\x1b[38;2;1;2;3;48:5:7mx\x1b[999B\x1b[Hy\x1b[2J\x1b_bk;t=1\a", 3)
	f.Fuzz(func(t *testing.T, text string, lines int) {
		checkHTML(t, render.Terminal(text, lines))
	})
}

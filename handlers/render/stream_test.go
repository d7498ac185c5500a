package render_test

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/copilot-portal/portal/handlers/render"
	"github.com/stretchr/testify/assert"
)

// stream adds a text in pieces of random lengths up to longest, and returns everything.
func stream(text string, longest int, random *rand.Rand) string {
	var s render.Stream
	var out strings.Builder
	for text != "" {
		n := min(1+random.IntN(longest), len(text))
		done, _ := s.Add(text[:n])
		out.WriteString(done)
		text = text[n:]
	}
	done, tail := s.Add("")
	return out.String() + done + tail
}

// parts are the parts of random texts.
func parts() []string {
	return []string{
		"word ", "*", "**", "_a_ ", "`", "``", "```", "```go\n", "~~~", "\n", "\n", "\n\n", "\r\n", "- ", "  - ", "    ", "1. ", "2) ", "> ", "# ", "---\n", "===\n",
		"|a|b|\n|-|-|\n|c|d|\n", "<b>", "&amp;", "https://a.b ", "![c](http://d) ", "func main() {}\n", "\t", "é", "\u202e", "\\", "\x00", "[x] ", "[e](http://f)", "\xff", "- [ ] g\n",
		strings.Repeat("a line of code\n", 120), strings.Repeat("long ", 4000), strings.Repeat("- item\n", 1500),
	}
}

func TestStreamIsIndependentOfSplits(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 0))
	all := parts()
	for range 60 {
		var text strings.Builder
		few := len(all) - 3*min(random.IntN(10), 1) // long parts are rare
		for range 1 + random.IntN(60) {
			text.WriteString(all[random.IntN(few)])
		}
		begin, whole := time.Now(), render.Markdown(text.String())
		longest := []int{3, 30, 3000}[random.IntN(3)]
		if text.Len() > 4000 {
			longest = 20_000
		}
		streamed, colored := stream(text.String(), longest, random), whole
		if isLate(begin) {
			streamed, colored = withoutSpans(streamed), withoutSpans(whole)
		}
		if !assert.Equal(t, colored, streamed, "%q", text.String()) {
			return
		}
		checkHTML(t, whole)
	}
}

// untilInTime repeats what renders code until it takes no longer than colouring may, which it may on a busy machine.
func untilInTime(t *testing.T, render func()) {
	t.Helper()
	for range 1000 {
		begin := time.Now()
		if render(); !isLate(begin) {
			return
		}
	}
	t.Fatal("it takes too long")
}

// isLate reports whether code since begin may not be coloured, because it took too long. chroma gives each token half as long.
func isLate(begin time.Time) bool { return time.Since(begin) >= render.MaxLexing/2 }

func withoutSpans(html string) string {
	return regexp.MustCompile("</?span[^>]*>").ReplaceAllString(html, "")
}

func TestStreamEmitsCompleteBlocks(t *testing.T) {
	t.Parallel()
	var s render.Stream
	for _, step := range []struct{ piece, done, tail string }{
		{"Hel", "", "<p>Hel</p>\n"},
		{"lo\n", "", "<p>Hello</p>\n"},
		{"\n", "", "<p>Hello</p>\n"},
		{"# He", "", "<p>Hello</p>\n<h3>He</h3>\n"},
		{"re\n", "<p>Hello</p>\n", "<h3>Here</h3>\n"},
		{"```\na", "<h3>Here</h3>\n", "<pre class=\"code\"><code>a</code></pre>\n"},
		{"\n``", "", "<pre class=\"code\"><code>a\n``</code></pre>\n"},
		{"`", "", "<pre class=\"code\"><code>a\n</code></pre>\n"},
		{"\n", "<pre class=\"code\"><code>a\n</code></pre>\n", ""},
		{"- b\n\n- c\n\n", "", "<ul>\n<li>\n<p>b</p>\n</li>\n<li>\n<p>c</p>\n</li>\n</ul>\n"},
		{"d\n", "<ul>\n<li>\n<p>b</p>\n</li>\n<li>\n<p>c</p>\n</li>\n</ul>\n", "<p>d</p>\n"},
		{"", "", "<p>d</p>\n"},
	} {
		done, tail := s.Add(step.piece)
		assert.Equal(t, step.done, done, "appended for %q", step.piece)
		assert.Equal(t, step.tail, tail, "tail for %q", step.piece)
	}
}

func TestStreamUsesEarlierLinkDefinitions(t *testing.T) {
	t.Parallel()
	var s render.Stream
	done, tail := s.Add("[a]: https://b.c\n\n[a] [d]\n\n[d]: https://e.f\n\n[d]\n")
	assert.Equal(t, `<p><a href="https://b.c" `+linked+">a</a> [d]</p>\n", done)
	assert.Equal(t, `<p><a href="https://e.f" `+linked+">d</a></p>\n", tail)
}

func TestTailOfStreamIsBounded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		begin, piece string
		times, tail  int // maximum length of a tail
	}{
		"code":           {"```go\n", "x := f(\"a\", 1) // b\n", 400, 20 * render.MaxFence},
		"plain code":     {"```\n", "x := f(\"a\", 1) // b\n", 10_000, 4 * render.MaxFence},
		"long lines":     {"```\n", strings.Repeat("a", 1000) + "\n", 800, 2 * render.MaxFence},
		"a list":         {"", "- an *item*\n", 4000, 4 * render.MaxFence},
		"a paragraph":    {"", "words of a paragraph\n", 10_000, 2 * render.MaxBlock},
		"a line":         {"", "a word and ", 20_000, 2 * render.MaxBlock},
		"a line of code": {"```\n", strings.Repeat("word ", 50), 4000, 2 * render.MaxBlock},
		"quotes":         {"", "> > a\n", 20_000, 8 * render.MaxBlock},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s render.Stream
			text := []string{textOf(first(s.Add(c.begin)))}
			longest := 0
			piece := strings.Repeat(c.piece, 20)
			for range c.times / 20 {
				done, tail := s.Add(piece)
				longest = max(longest, len(tail))
				text = append(text, textOf(done))
			}
			_, tail := s.Add("")
			text = append(text, textOf(tail))
			assert.Less(t, longest, c.tail)
			word := strings.Trim(c.piece, "*>-\n ")
			if name == "a list" {
				word = "item"
			}
			assert.InDelta(t, c.times, strings.Count(strings.Join(text, ""), word[len(word)-1:])/strings.Count(word, word[len(word)-1:]), 20)
		})
	}
}

func first(a, _ string) string { return a }

func TestLongCodeIsDivided(t *testing.T) {
	t.Parallel()
	begin, returns := time.Now(), `<span class="hl-k">return`
	out := render.Markdown("~~~go\n" + strings.Repeat("return\n", 2*render.FenceLines+1) + "~~~\nend\n")
	if isLate(begin) {
		out, returns = withoutSpans(out), "return"
	}
	checkHTML(t, out)
	assert.Equal(t, 1, strings.Count(out, `<pre class="code" data-language="go">`))
	assert.Equal(t, 2, strings.Count(out, `<pre class="code continued" data-language="go">`))
	assert.Equal(t, 2*render.FenceLines+1, strings.Count(out, returns))
	assert.True(t, strings.HasSuffix(out, "<p>end</p>\n"))
}

func TestLongTailIsRenderedAgainAfterGrowth(t *testing.T) {
	t.Parallel()
	var s render.Stream
	versions := map[string]bool{}
	text := ""
	for i := range 3000 {
		piece := []string{"some ", "**bold** ", "words\n"}[i%3]
		text += piece
		done, tail := s.Add(piece)
		assert.Empty(t, done)
		shown, rest, _ := strings.Cut(tail, `<p class="plain">`)
		if len(text) > 5000 {
			versions[shown] = true
		}
		if i%500 == 0 {
			checkHTML(t, tail)
			assert.Equal(t, strings.Count(text, "bold"), strings.Count(shown, "bold")+strings.Count(rest, "bold"), "nothing is withheld")
		}
	}
	assert.Less(t, len(versions), 30, "of 2,000")
	_, tail := s.Add("")
	assert.Equal(t, render.Markdown(text), tail)
}

func TestStreamedCodeIsColoredWithDelay(t *testing.T) {
	t.Parallel()
	var short, long, done string
	untilInTime(t, func() {
		var s render.Stream
		_, short = s.Add("```go\n" + strings.Repeat("return\n", 10) + "retu")
		_, long = s.Add("rn\n" + strings.Repeat("return\n", 80))
		done, _ = s.Add("```\n")
	})
	assert.Equal(t, 91, strings.Count(long, "return"))
	assert.Equal(t, 10, strings.Count(short, "hl-k"), "every line of short code")
	assert.Equal(t, 80, strings.Count(long, "hl-k"))
	assert.Equal(t, 91, strings.Count(done, "hl-k"))
}

func FuzzStream(f *testing.F) {
	f.Add("# a\n\n- b\n\n  c\n- d\n\n```go\nx\n\n```\n> e", uint64(1), 3)
	f.Add("a\n\n    b\n\n\tc\n1. d\n   ~~~\n   e\n~~~\n\n~~~", uint64(2), 5)
	f.Fuzz(func(t *testing.T, text string, seed uint64, longest int) {
		whole := render.Markdown(text)
		checkHTML(t, whole)
		var s render.Stream
		done, tail := s.Add(text)
		if got := stream(text, max(1, min(longest, 1<<20)), rand.New(rand.NewPCG(seed, 0))); got != done+tail {
			t.Fatalf("%q\n%q", got, done+tail)
		}
		if !strings.Contains(text, "]:") && done+tail != whole {
			t.Fatalf("%q\n%q", done+tail, whole)
		}
	})
}

package render_test

import (
	"strings"
	"testing"

	"github.com/copilot-portal/portal/handlers/render"
	"github.com/stretchr/testify/assert"
)

func TestCodeHasColorsOfItsLanguage(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, language, path, want string }{
		"by name":       {"return 1", "go", "", `<pre class="code" data-language="go"><code><span class="hl-k">return </span><span class="hl-l">1</span></code></pre>`},
		"by path":       {"return 1", "", "/a/b.go", `<pre class="code" data-language="go"><code><span class="hl-k">return </span><span class="hl-l">1</span></code></pre>`},
		"by neither":    {"return 1", "", "/a/b", `<pre class="code"><code>return 1</code></pre>`},
		"unknown":       {"<b>", "qqq", "", `<pre class="code" data-language="qqq"><code>&lt;b&gt;</code></pre>`},
		"hostile names": {"a", `"><script>`, "\"><script>.go\x00", `<pre class="code"><code>a</code></pre>`},
		"empty":         {"", "go", "", `<pre class="code" data-language="go"><code></code></pre>`},
		"invalid UTF-8": {"\"\xff\u202e\"", "go", "", `<pre class="code" data-language="go"><code><span class="hl-s">&#34;�‹U+202E›&#34;</span></code></pre>`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := render.Code(c.text, c.language, c.path)
			assert.Equal(t, c.want+"\n", out)
			checkHTML(t, out)
		})
	}
}

func TestLargeCodeIsNotColored(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]string{
		"a line of 1 MB": strings.Repeat("<", 1<<20),
		"a long line":    "return\n" + strings.Repeat("(", 5000),
		"200,000 lines":  strings.Repeat("return\n", 200_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := render.Code(in, "go", "")
			checkHTML(t, out)
			assert.NotContains(t, out, "hl-")
			assert.Less(t, len(out), render.MaxHTML)
			assert.Equal(t, len(in) > render.MaxText, strings.Contains(out, "are omitted"))
		})
	}
}

func FuzzCode(f *testing.F) {
	for _, language := range []string{"go", "html", "markdown", "bash", "php", "diff", "js", "yaml", "console"} {
		f.Add("a <b> \"c\" // d\n$ e\n---\n+f", language)
	}
	f.Fuzz(func(t *testing.T, text, language string) {
		out := render.Code(text, language, language)
		checkHTML(t, out)
	})
}

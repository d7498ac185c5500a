package render_test

import (
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/handlers/render"
)

// tags matches tags in HTML.
var tags = regexp.MustCompile(`<[^>]*>`)

func TestEachLineOfAFileIsRenderedOnItsOwn(t *testing.T) {
	lines := []string{"/* a", "b */", "", "\tfunc f() string { return `x", "y` }", "package p // <b>&amp;</b>"}
	rendered := render.Lines(lines, "deep/a.go")
	assert.Len(t, rendered, len(lines))
	for i, line := range rendered {
		assert.Equal(t, lines[i], html.UnescapeString(tags.ReplaceAllString(line, "")))
		assert.Equal(t, strings.Count(line, "<span"), strings.Count(line, "</span>"), line)
	}
	assert.Equal(t, `<span class="hl-c">b */</span>`, rendered[1])
	assert.Contains(t, rendered[4], `<span class="hl-s">y`)
}

func TestHostileFileIsText(t *testing.T) {
	lines := []string{`<script>alert(1)</script><img src=x onerror=alert(1)>`, "a\rb\x00\x1b[31m\u202eevil", `</code></pre><a href="javascript:x">`, strings.Repeat("x", 5000)}
	for _, name := range []string{"a.html", "a.go", "a.unknown", "", strings.Repeat("x", 5000) + ".go", `"><script>.js`} {
		rendered := render.Lines(lines, name)
		assert.Len(t, rendered, len(lines), name)
		for _, line := range rendered {
			assert.Empty(t, regexp.MustCompile(`<(?:[^s/]|s[^p])`).FindString(line), "only spans: %s", line)
		}
		assert.Equal(t, "a␍b[31m‹U+202E›evil", html.UnescapeString(tags.ReplaceAllString(rendered[1], "")))
	}
	assert.Nil(t, render.Lines(nil, "a.go"))
}

func FuzzLines(f *testing.F) {
	f.Add("package a\n\n/* b\n*/", "a.go")
	f.Add("<a>\n\r\n&\u2028", "a.html")
	f.Fuzz(func(t *testing.T, text, file string) {
		lines := strings.Split(text, "\n")
		rendered := render.Lines(lines, file)
		assert.Len(t, rendered, len(lines))
		for _, line := range rendered {
			assert.Equal(t, strings.Count(line, "<span"), strings.Count(line, "</span>"))
		}
	})
}

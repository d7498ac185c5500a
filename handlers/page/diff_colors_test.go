package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLinesOfDiffHaveColors(t *testing.T) {
	hunks := []hunk{{Lines: []line{
		{Kind: " ", Text: "func a() {"}, {Kind: "-", Text: "\treturn // <b>"}, {Kind: "+", Text: "\treturn \"<b>\"\r"}, {Kind: " ", Text: "}"},
	}}}
	addColors(hunks, "a.go", "a.go")
	for i, want := range []string{`<span class="hl-k">func </span>`, `<span class="hl-c">// &lt;b&gt;</span>`, `<span class="hl-s">&#34;&lt;b&gt;&#34;</span>`, "}"} {
		assert.Contains(t, hunks[0].Lines[i].HTML, want)
	}
	assert.True(t, strings.HasPrefix(hunks[0].Lines[1].HTML, "\t"))
	assert.Contains(t, hunks[0].Lines[2].HTML, "␍")
}

func TestLargeDiffHasNoColors(t *testing.T) {
	long := []hunk{{Lines: []line{{Kind: "+", Text: strings.Repeat("x ", 1001)}, {Kind: "-", Text: "func"}}}}
	addColors(long, "a.go", "a.go")
	assert.Empty(t, long[0].Lines[0].HTML)
	assert.NotEmpty(t, long[0].Lines[1].HTML, "the other side is short")
	var large []hunk
	for range 300 {
		large = append(large, hunk{Lines: []line{{Kind: "+", Text: strings.Repeat("y ", 500)}}})
	}
	addColors(large, "a.go", "a.go")
	assert.NotEmpty(t, large[0].Lines[0].HTML)
	assert.Empty(t, large[299].Lines[0].HTML)
}

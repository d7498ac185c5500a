package page_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMarkdownBecomesSafeHTML(t *testing.T) {
	inTime(t, func(p *portal) {
		u := p.Able()
		html, _ := u.Ask("portal.markdown", document{"text": "# Plan\n\n<script>x</script> [a](javascript:x) **b**"})["html"].(string)
		assert.Contains(t, html, "<strong>b</strong>")
		assert.NotContains(t, html, "<script")
		assert.NotContains(t, html, "href")
		assert.Equal(t, -32602, u.Ask("portal.markdown", document{"text": strings.Repeat("x", 1<<20+1)})["code"])
	})
}

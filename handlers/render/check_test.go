package render_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/copilot-portal/portal/handlers/render"
)

var (
	tag     = regexp.MustCompile(`<(/?)([a-z0-9]+)([^<>]*)>`)
	hostile = regexp.MustCompile(`(?i)<[^>]*(?:\son[a-z]+=|\sstyle=|\sid=|\ssrc=|javascript:|data:text)`)
)

// checkHTML checks what must hold for all output.
func checkHTML(t *testing.T, out string) {
	t.Helper()
	if again := render.Safe(out); again != out {
		t.Fatalf("the policy changes the output:\n%.2000q\n%.2000q", out, again)
	}
	if !utf8.ValidString(out) {
		t.Fatalf("invalid UTF-8: %.2000q", out)
	}
	if i := strings.IndexFunc(out, isHidden); i >= 0 {
		t.Fatalf("an invisible character at %d: %.2000q", i, out)
	}
	if found := hostile.FindString(out); found != "" {
		t.Fatalf("%q in %.2000q", found, out)
	}
	checkTags(t, out)
}

func isHidden(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func checkTags(t *testing.T, out string) {
	t.Helper()
	var open []string
	for _, m := range tag.FindAllStringSubmatch(out, -1) {
		name := m[2]
		switch {
		case slices.Contains([]string{"br", "hr", "input"}, name):
		case m[1] == "":
			if name == "a" && slices.Contains(open, "a") {
				t.Fatalf("a link in a link: %.2000q", out)
			}
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			t.Fatalf("</%s> closes %v: %.2000q", name, open, out)
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Fatalf("%v are open: %.2000q", open, out)
	}
	if text := tag.ReplaceAllString(out, ""); strings.ContainsAny(text, "<>") {
		t.Fatalf("an unescaped < or >: %.2000q", out)
	}
}

// textOf returns the visible text.
func textOf(out string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(tag.ReplaceAllString(out, ""))
}

package copilot

import (
	"strings"
	"unicode"

	"github.com/copilot-portal/portal/copilot/event"
)

// lately is what lists of sessions tell besides what each session is, so that they
// need no record.
type lately struct {
	run     string // the current one, else the last
	prompts int
	prompt  string // the last, in short
}

// take counts a prompt, as it is recorded.
func (l *lately) take(p event.Prompt) {
	l.prompts++
	l.prompt = brief(p.Text)
}

// maxBrief is how much of a prompt lists tell, in characters.
const maxBrief = 200

// brief is the beginning of a text, in one line.
func brief(text string) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			gap = n > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			n++
		}
		gap = false
		b.WriteRune(r)
		if n++; n > maxBrief {
			return cut(b.String())
		}
	}
	return b.String()
}

// cut makes room for a sign that something follows.
func cut(line string) string {
	runes := []rune(line)
	return strings.TrimRight(string(runes[:maxBrief-1]), " ") + "…"
}

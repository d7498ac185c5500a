package copilot

import (
	"strings"
	"unicode"

	"github.com/copilot-portal/portal/copilot/event"
)

// runSummary is what lists of sessions tell besides what each session is, so that they
// need no record.
type runSummary struct {
	run     string // the current one, else the last
	prompts int
	prompt  string // the last, in short
}

// addPrompt counts a prompt, as it is recorded.
func (l *runSummary) addPrompt(p event.Prompt) {
	l.prompts++
	l.prompt = excerpt(p.Text)
}

// maxBrief is how much of a prompt lists tell, in characters.
const maxBrief = 200

// excerpt is the beginning of a text, in one line.
func excerpt(text string) string {
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
			return truncate(b.String())
		}
	}
	return b.String()
}

// truncate makes room for a sign that something follows.
func truncate(line string) string {
	runes := []rune(line)
	return strings.TrimRight(string(runes[:maxBrief-1]), " ") + "…"
}

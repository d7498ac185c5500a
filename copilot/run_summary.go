package copilot

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
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
	l.prompt = session.Excerpt(p.Text)
}

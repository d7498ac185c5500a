package copilot

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
)

// runSummary is what lists of sessions show about runs. It is separate from the record, so that lists need not read the record.
type runSummary struct {
	run     string // the current one, otherwise the last
	prompts int
	prompt  string // the last one, shortened
}

// addPrompt counts a recorded prompt.
func (l *runSummary) addPrompt(p event.Prompt) {
	l.prompts++
	l.prompt = session.Excerpt(p.Text)
}

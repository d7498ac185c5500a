package copilot

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
)

// runSummary is what lists of sessions say about runs. It is kept beside the record so that lists need not read that.
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

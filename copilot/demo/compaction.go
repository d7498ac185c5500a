package demo

import "strings"

// When a conversation gets long, the CLI asks the model for a summary and goes on with that instead of the past.
// These are the words in which it does so.
const (
	summaryRequest = "Please create a detailed summary of the conversation"
	summaryNotice  = "Some of the conversation history has been summarized"
)

// summarized ends a script that was cut by a summary, for nobody knows any more how far it was.
const summarized = "The conversation was summarized before the script was done. It ends here."

// wantsSummary recognises the request for a summary. It is full of words that would be keywords.
func wantsSummary(t *turn) bool {
	return t.noTools && strings.HasPrefix(t.prompt, summaryRequest)
}

// summarize writes the summary.
func summarize(earlier []string) string {
	return "<overview>\n" + remember(earlier) + "</overview>\n\n" +
		"<checkpoint_title>Trying the demo</checkpoint_title>\n"
}

// compacted reads the message that stands for the past. The prompts in it have been done already.
func compacted(content string) ([]string, bool) {
	if !strings.HasPrefix(content, summaryNotice) {
		return nil, false
	}
	const opening, closing = "<user_message>", "</user_message>"
	prompts := []string{}
	for {
		_, rest, ok := strings.Cut(content, opening)
		if !ok {
			return prompts, true
		}
		prompt, rest, ok := strings.Cut(rest, closing)
		if !ok {
			return prompts, true
		}
		prompts = append(prompts, strings.TrimSpace(prompt))
		content = rest
	}
}

package copilot

import (
	"slices"
	"strings"
	"unicode"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
)

// titleSource says where the title of a session comes from. Titles of a lower source do not replace those of a higher one.
type titleSource int

const (
	titleByAgent titleSource = iota // the agent sends one, usually the first prompt
	titleByModel                    // the model was asked for one
	titleByUser                     // a user or a fork set it
)

// titleQuestion asks the model for a title.
const titleQuestion = "Reply with a title for this conversation and nothing else: at most six words in the language of the user, in sentence case, " +
	"without quotation marks, Markdown or a full stop. It says what the user wants."

// maxModelTitle is the maximum length of a title of the model, in characters. Longer answers are no titles.
const maxModelTitle = 80

// askTitle asks the model for a title once the first run has completed, in parallel to what follows. Without an answer, the agent's
// title stays. The caller must hold the lock.
func (s *Session) askTitle(end event.RunEnded) {
	first := s.settings.Prompts == 1 && end.Outcome == event.Completed
	if !first || s.titledBy != titleByAgent || s.link == nil || !s.link.pool.can(agent.Asking) || !slices.Contains(s.host.options.ModelTitles, s.origin) {
		return
	}
	l := s.link
	s.pendingReplies.Go(func() {
		ctx, cancel := l.callContext(nil)
		defer cancel()
		answer, err := l.conversation.Ask(ctx, titleQuestion)
		title := cleanTitle(answer)
		if err != nil || title == "" {
			s.host.options.Log.Debug("the model gave no title", "session", s.id, "answer", secret.Mask(answer), "err", err)
			return
		}
		s.setModelTitle(secret.Mask(title))
	})
}

// setModelTitle stores a title of the model, unless a user was faster.
func (s *Session) setModelTitle(title string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.titledBy != titleByAgent {
		return
	}
	s.titledBy = titleByModel
	if title == s.title {
		s.storeHead()
		return
	}
	s.title = title
	s.recordInRun("", event.TitleChanged{Title: title})
}

// cleanTitle returns the title in an answer of the model, without quotation marks and Markdown; "" if there is none.
func cleanTitle(answer string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(answer), "\n")
	line = strings.Join(strings.FieldsFunc(line, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }), " ")
	line = strings.TrimSpace(strings.TrimPrefix(strings.TrimLeft(line, "#*_> "), "Title: "))
	line = strings.TrimSuffix(strings.Trim(line, "\"'`*_“”„«» "), ".")
	if len([]rune(line)) > maxModelTitle {
		return ""
	}
	return strings.ToValidUTF8(line, "")
}

package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/plain"
	"github.com/copilot-portal/portal/handlers/form"
)

// questionText returns the text of a question.
func questionText(q event.Question) string {
	switch q.Kind {
	case event.AskPermission:
		return fmt.Sprintf("\n%s [%s]\n%s\nAllow? [y]es, [n]o, or a reason for no%s: ",
			plain.Text(q.Title), plain.Text(strings.Join(q.Names, ", ")), indent(q.Detail), scopeChoices(q))
	case event.AskPlan:
		return fmt.Sprintf("\nThe plan:\n%s\n%sCarry it out? [y]es%s, [n]o, or what to change: ",
			indent(q.Text), numbered(q.Choices), recommendedChoice(q))
	case event.AskSignIn:
		return fmt.Sprintf("\n%s asks you to visit a page: %s\n  %s\nDone? [y]es or [n]o: ",
			oneLine(cmp.Or(q.Source, "The agent")), plain.Text(q.Text), plain.Text(q.URL))
	case event.AskInput, event.AskForm, event.AskTool:
	}
	return fmt.Sprintf("\n%s\n%s> ", plain.Text(q.Text), numbered(q.Choices))
}

// scopeChoices lists the scopes that a yes can have for the rest of the session.
func scopeChoices(q event.Question) string {
	if len(q.Scopes) == 0 {
		return ""
	}
	labels := make([]string, 0, len(q.Scopes))
	for i, s := range q.Scopes {
		labels = append(labels, fmt.Sprintf("%d %s", i+1, oneLine(s.Label)))
	}
	return "\nIn this session [a]lways, or by number: " + strings.Join(labels, ", ")
}

func indent(s string) string { return "  " + strings.ReplaceAll(plain.Text(s), "\n", "\n  ") }

func numbered(choices []string) string {
	var b strings.Builder
	for i, choice := range choices {
		_, _ = fmt.Fprintf(&b, "  %d  %s\n", i+1, plain.Text(choice)) // a strings.Builder never fails
	}
	return b.String()
}

// recommendedChoice names the choice that a yes means.
func recommendedChoice(q event.Question) string {
	if len(q.Choices) == 0 {
		return ""
	}
	return " (" + plain.Text(q.Choices[0]) + "), a number"
}

// permit reads the answer to a permission: yes, no, a reason, or the number of a scope to remember.
func permit(q event.Question, text string) (event.Answer, bool) {
	if n, err := strconv.Atoi(text); err == nil {
		if n < 1 || n > len(q.Scopes) {
			return event.Answer{}, false
		}
		return event.Answer{Approved: true, Remember: true, Scope: q.Scopes[n-1].Kind}, true
	}
	switch strings.ToLower(text) {
	case "":
		return event.Answer{}, false
	case "y", "yes":
		return event.Answer{Approved: true}, true
	case "a", "always":
		return event.Answer{Approved: true, Remember: true}, true
	case "n", "no":
		return event.Answer{}, true
	}
	return event.Answer{Reason: text}, true
}

// approve reads the answer to a plan: yes, one of its choices, or feedback.
func approve(q event.Question, text string) (event.Answer, bool) {
	switch strings.ToLower(text) {
	case "":
		return event.Answer{}, false
	case "y", "yes":
		return event.Answer{Approved: true}, true // the recommended choice
	case "n", "no":
		return event.Answer{}, true
	}
	if choice, ok := choose(q, text); ok {
		return event.Answer{Approved: true, Text: choice.Text}, true
	}
	_, err := strconv.Atoi(text)
	return event.Answer{Reason: text}, err != nil
}

// agree reads a plain yes or no.
func agree(text string) (event.Answer, bool) {
	yes, err := form.ReadBool(text)
	return event.Answer{Approved: yes}, err == nil
}

// choose reads the answer to a question: a choice, its number, or free text.
func choose(q event.Question, text string) (event.Answer, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Choices) {
		text = q.Choices[n-1]
	}
	return event.Answer{Text: text}, text != "" && (q.Freeform || slices.Contains(q.Choices, text))
}

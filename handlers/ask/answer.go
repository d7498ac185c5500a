package ask

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/handlers/form"
)

// put is the text of a question.
func put(q copilot.Question) string {
	switch q.Kind {
	case copilot.AskPermission:
		return fmt.Sprintf("\n%s [%s]\n%s\nAllow? [y]es, [a]lways in this session, [n]o, or a reason to refuse: ",
			clean(q.Title), clean(strings.Join(q.Names, ", ")), indent(q.Detail))
	case copilot.AskPlan:
		return fmt.Sprintf("\nThe plan:\n%s\n%sCarry it out? [y]es%s, [n]o, or what shall be different: ",
			indent(q.Text), numbered(q.Choices), recommended(q))
	case copilot.AskSignIn:
		return fmt.Sprintf("\n%s asks you to visit a page: %s\n  %s\nDone? [y]es or [n]o: ",
			oneLine(clean(cmp.Or(q.Source, "The agent"))), clean(q.Text), clean(q.URL))
	case copilot.AskInput, copilot.AskForm, copilot.AskTool:
	}
	return fmt.Sprintf("\n%s\n%s> ", clean(q.Text), numbered(q.Choices))
}

func indent(s string) string { return "  " + strings.ReplaceAll(clean(s), "\n", "\n  ") }

func numbered(choices []string) string {
	var b strings.Builder
	for i, choice := range choices {
		_, _ = fmt.Fprintf(&b, "  %d  %s\n", i+1, clean(choice)) // it takes everything
	}
	return b.String()
}

// recommended says which way a yes is.
func recommended(q copilot.Question) string {
	if len(q.Choices) == 0 {
		return ""
	}
	return " (" + clean(q.Choices[0]) + "), a number"
}

// permit reads the answer to a permission.
func permit(text string) (copilot.Answer, bool) {
	switch strings.ToLower(text) {
	case "":
		return copilot.Answer{}, false
	case "y", "yes":
		return copilot.Answer{Approved: true}, true
	case "a", "always":
		return copilot.Answer{Approved: true, Remember: true}, true
	case "n", "no":
		return copilot.Answer{}, true
	}
	return copilot.Answer{Reason: text}, true
}

// approve reads the answer to a plan: yes, one of its ways, or feedback.
func approve(q copilot.Question, text string) (copilot.Answer, bool) {
	switch strings.ToLower(text) {
	case "":
		return copilot.Answer{}, false
	case "y", "yes":
		return copilot.Answer{Approved: true}, true // the recommended way
	case "n", "no":
		return copilot.Answer{}, true
	}
	if way, ok := choose(q, text); ok {
		return copilot.Answer{Approved: true, Text: way.Text}, true
	}
	_, err := strconv.Atoi(text)
	return copilot.Answer{Reason: text}, err != nil
}

// agree reads a plain yes or no.
func agree(text string) (copilot.Answer, bool) {
	yes, err := form.ReadBool(text)
	return copilot.Answer{Approved: yes}, err == nil
}

// choose reads the answer to a question: a choice, its number, or free text.
func choose(q copilot.Question, text string) (copilot.Answer, bool) {
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(q.Choices) {
		text = q.Choices[n-1]
	}
	return copilot.Answer{Text: text}, text != "" && (q.Freeform || slices.Contains(q.Choices, text))
}

package report

import (
	"fmt"
	"slices"
	"strings"
)

// The section that every clarification has.
const sectionQuestions = "Questions"

type clarification struct {
	Questions []question `json:"questions"`
	Document  string     `json:"document"`
}

type question struct {
	Question    string   `json:"question"`
	Context     string   `json:"context"`
	Options     []string `json:"options"`
	Recommended string   `json:"recommended,omitempty"`
}

func (c *clarification) check(k *checker) {
	for i := range c.Questions {
		c.Questions[i].check(k, fmt.Sprintf("questions[%d]", i))
	}
}

func (q *question) check(k *checker, at string) {
	k.text(at+".question", &q.Question)
	k.text(at+".context", &q.Context)
	k.choices(at+".options", q.Options)
	q.Recommended = strings.TrimSpace(q.Recommended)
	if len(q.Options) == 1 {
		k.fault("%s.options has one element: give at least two, or none for a question that needs a free answer", at)
	}
	if q.Recommended != "" && !slices.Contains(q.Options, q.Recommended) {
		k.fault("%s.recommended must repeat one of the options word for word, or be omitted", at)
	}
}

func (c clarification) report() Report {
	c.Document = c.markdown()
	return Report{lines: c.lines(), document: c.Document, result: encode(c), summary: c.summary()}
}

func (c clarification) summary() string {
	if len(c.Questions) == 0 {
		return "Clarification complete. No questions: the specification is clear."
	}
	return fmt.Sprintf("Clarification complete. %s generated. Please review and answer.", plural(len(c.Questions), "question", "questions"))
}

func (c clarification) lines() []Line {
	if len(c.Questions) == 0 {
		return []Line{{Text: "No clarification questions: the specification is clear.", Subsection: sectionQuestions}}
	}
	lines := []Line{{
		Text:       fmt.Sprintf("Generated %s based on specification gaps.", plural(len(c.Questions), "clarification question", "clarification questions")),
		Subsection: sectionQuestions,
	}}
	for i, q := range c.Questions {
		lines = append(lines, Line{Text: fmt.Sprintf("Q%d: %s", i+1, q.text()), Subsection: sectionQuestions})
	}
	return lines
}

// text formats the question as in spec/contracts/websocket.md, "Operation: Clarify Specification".
func (q question) text() string {
	var b strings.Builder
	b.WriteString(q.Question)
	for i, option := range q.Options {
		fmt.Fprintf(&b, "\n  %c) %s", 'A'+i, indent(option, 5))
		if option == q.Recommended {
			b.WriteString(" (recommended)")
		}
	}
	return b.String() + "\n\nContext: " + q.Context
}

func (c clarification) markdown() string {
	var b strings.Builder
	b.WriteString("# Clarification questions\n")
	if len(c.Questions) == 0 {
		b.WriteString("\nNone: the specification is clear.\n")
	}
	for i, q := range c.Questions {
		fmt.Fprintf(&b, "\n## Q%d\n\n%s\n\n", i+1, q.Question)
		for j, option := range q.Options {
			fmt.Fprintf(&b, "- **%c)** %s%s\n", 'A'+j, indent(option, 2), mark(option == q.Recommended))
		}
		if len(q.Options) > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "*Context:* %s\n\n**Answer:** \n", q.Context)
	}
	return b.String()
}

func mark(recommended bool) string {
	if recommended {
		return " *(recommended)*"
	}
	return ""
}

// indent indents all lines but the first, to keep them within their list item.
func indent(s string, by int) string {
	return strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", by))
}

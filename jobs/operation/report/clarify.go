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

func (c *checker) clarification(v any) clarification {
	all := clarification{Questions: []question{}}
	o := c.object("", v, []string{"questions"})
	c.list("", o, "questions", maxQuestions, func(path string, v any) {
		all.Questions = append(all.Questions, c.question(path, v))
	})
	return all
}

func (c *checker) question(path string, v any) question {
	o := c.object(path, v, []string{"question", "context", "options"}, "recommended")
	q := question{
		Question: c.text(path, o, "question", maxText), Context: c.text(path, o, "context", maxText), Options: []string{},
		Recommended: c.optionalText(path, o, "recommended", maxChoice),
	}
	c.list(path, o, "options", maxOptions, func(path string, v any) { q.Options = append(q.Options, c.option(path, v, q.Options)) })
	if len(q.Options) == 1 {
		c.fault("%s.options has one element: give at least two, or none for a question that needs a free answer", path)
	}
	if q.Recommended != "" && !slices.Contains(q.Options, q.Recommended) {
		c.fault("%s.recommended must repeat one of the options word for word, or be omitted", path)
	}
	return q
}

func (c *checker) option(path string, v any, before []string) string {
	s := c.string(path, v, maxChoice)
	if _, ok := v.(string); ok && s == "" {
		c.fault("%s is empty", path)
	} else if ok && slices.Contains(before, s) {
		c.fault("%s is a duplicate", path)
	}
	return s
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

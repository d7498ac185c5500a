package report

import (
	"fmt"
	"strings"
)

// The section of a plan that the report itself has.
const sectionPlan = "Plan"

type plan struct {
	Title    string `json:"title"`
	Document string `json:"document"`
}

func (c *checker) plan(v any) plan {
	o := c.object("", v, []string{"title", "document"})
	p := plan{Title: c.text("", o, "title", mostTitle), Document: c.text("", o, "document", mostDocument) + "\n"}
	if strings.Contains(p.Title, "\n") {
		c.fault("title has several lines: it must be one")
	}
	return p
}

func (p plan) report() Report {
	lines := []Line{{Text: "Plan: " + p.Title, Subsection: sectionPlan}}
	for _, block := range blocks(p.Document) {
		lines = append(lines, Line{Text: block, Subsection: sectionPlan})
	}
	return Report{
		lines: lines, document: p.Document, result: encode(p),
		summary: fmt.Sprintf("Plan complete: %s. Please review it before work begins.", strings.TrimRight(p.Title, ".")),
	}
}

// mostBlocks keeps a long plan from using up the messages of an operation.
const mostBlocks = 100

// blocks parts a document before each heading of the first two levels that stands outside of code.
func blocks(document string) []string {
	var all []string
	var block strings.Builder
	end := func() {
		if text := strings.Trim(block.String(), "\n"); text != "" {
			all = append(all, text)
		}
		block.Reset()
	}
	fence := ""
	for line := range strings.Lines(document) {
		if fence == "" && len(all) < mostBlocks-1 && (strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ")) {
			end()
		}
		fence = fenced(fence, strings.TrimSpace(line))
		block.WriteString(line)
	}
	end()
	return all
}

// fenced is the fence that is open after a line.
func fenced(open, line string) string {
	for _, sign := range []string{"`", "~"} {
		ticks := line[:len(line)-len(strings.TrimLeft(line, sign))]
		switch {
		case len(ticks) < 3:
		case open == "":
			return ticks
		case ticks == line && strings.HasPrefix(ticks, open):
			return ""
		}
	}
	return open
}

// answer is the result of a free prompt.
type answer struct {
	Document string `json:"document"`
}

func (c *checker) answer(v any) answer {
	return answer{c.text("", c.object("", v, []string{"document"}), "document", mostDocument) + "\n"}
}

// report has no lines, for the answer was told while it came.
func (a answer) report() Report {
	return Report{document: a.Document, result: encode(a), summary: "Prompt complete."}
}

// Answer is the report of a [Free] operation, whose result is the text of the model's answer, which may be empty.
func Answer(text string) Report { return answer{strings.TrimSpace(text) + "\n"}.report() }

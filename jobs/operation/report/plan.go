package report

import (
	"fmt"
	"strings"
)

// The section that every plan has.
const sectionPlan = "Plan"

type plan struct {
	Title    string `json:"title"`
	Document string `json:"document"`
}

func (p *plan) check(k *checker) {
	k.text("title", &p.Title)
	if strings.Contains(p.Title, "\n") {
		k.fault("title must be a single line")
	}
	k.text("document", &p.Document)
	p.Document += "\n"
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

// maxBlocks stops a long plan from using up the messages of an operation.
const maxBlocks = 100

// blocks splits a document before each heading of level 1 or 2 outside of code.
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
		if fence == "" && len(all) < maxBlocks-1 && (strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "## ")) {
			end()
		}
		fence = fenced(fence, strings.TrimSpace(line))
		block.WriteString(line)
	}
	end()
	return all
}

// fenced returns the code fence that is open after a line, or "".
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

// report has no lines, because the answer was streamed.
func (a answer) report() Report {
	return Report{document: a.Document, result: encode(a), summary: "Prompt complete."}
}

// Answer returns the report of a [Free] operation: the model's answer, which may be empty.
func Answer(text string) Report { return answer{strings.TrimSpace(text) + "\n"}.report() }

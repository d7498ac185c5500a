package demo

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	comment   = regexp.MustCompile(`(?s)<!--.*?(-->|$)`)
	directing = regexp.MustCompile(`(?s)^\s*<!-- demo:(.*?)-->`)
)

// directions are the keywords of a text that begins with <!-- demo: KEYWORDS -->, for tests.
func directions(text string) string {
	if m := directing.FindStringSubmatch(text); m != nil {
		return strings.TrimSpace(m[1])
	}
	return ""
}

// report answers the prompt of an operation, which offers a tool for its report. The report is canned and quotes the document.
// It returns nil for other prompts: those without a document that do not name the tool either.
func (t *turn) report() []step {
	tool, offered := t.offers("report_questions", "report_analysis", "report_plan")
	if !offered || !t.fresh && !strings.Contains(t.prompt, tool) {
		return nil
	}
	var steps []step
	directed := directions(t.document)
	if t.fresh {
		steps = parse(directed, t.dir)
	}
	title, sentence := excerpt(t.document)
	switch {
	case title == "":
		return append(steps, say("I got no document, so there is nothing that I could report.\n"))
	case strings.HasSuffix(directed, "forget") && t.fresh:
		return append(steps, say("I have read it all, and forget to report.\n"))
	}
	section, args := "Gaps", cannedQuestions(sentence)
	switch tool {
	case "report_analysis":
		section, args = "Checks", cannedAnalysis(sentence)
	case "report_plan":
		section, args = "Decisions", plannedFor(title, sentence)
	}
	read := fmt.Sprintf("## Reading\n\nCharacters: %d\n\n## %s\n\n- %s\n", utf8.RuneCountInString(t.document), section, sentence)
	return append(steps, reason("Reading the document...\n", "I am a script: I always report the same.\n"),
		say(read), call{[]string{tool}, args}, say("Reported.\n"))
}

// excerpt returns two lines of a document without their markup: its first, and the first that is no heading.
func excerpt(document string) (title, sentence string) {
	const enough = 80
	for line := range strings.Lines(comment.ReplaceAllString(document, "")) {
		text := shorten(strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#-*+[] \t")), enough)
		if title == "" {
			title = text
		}
		if text != "" && !strings.HasPrefix(line, "#") {
			return title, text
		}
	}
	return title, title
}

func cannedQuestions(sentence string) map[string]any {
	options := []string{"An automated test", "A demonstration to those who asked for it", "A review"}
	return map[string]any{"questions": []any{map[string]any{
		"question": fmt.Sprintf("What shows that this is done: \"%s\"", sentence),
		"context":  "Without acceptance criteria nobody knows when to stop.", "options": options, "recommended": options[0],
	}}}
}

func cannedAnalysis(sentence string) map[string]any {
	return map[string]any{
		"completeness": 85, "risk": "MEDIUM", "summary": "This analysis is made by the demo, a script without intelligence. It is always the same.",
		"findings": []any{map[string]any{"task": sentence, "severity": "warning", "text": "No effort estimate. Recommend T-shirt sizing (S/M/L) or story points."}},
		"circular": []any{},
		"missing":  []any{map[string]any{"title": "Error Handling & Recovery", "reason": "No task says what happens when something fails.", "after": sentence}},
	}
}

func plannedFor(title, sentence string) map[string]any {
	return map[string]any{"title": "Plan: " + title, "document": fmt.Sprintf("# Plan: %s\n\n## Goal\n\nWhat the specification asks for. "+
		"This plan is made by the demo, a script without intelligence.\n\n## Assumptions\n\n- We assume that the specification is complete.\n\n"+
		"## Architecture decisions\n\n- One step. Rejected: several, for the demo cannot tell them apart.\n\n"+
		"## Steps\n\n1. **%s**\n   - **Depends on:** none\n   - **Check:** a test shows it.\n   - **Size:** S\n\n"+
		"## Risks\n\n- A requirement is misunderstood. A review shows it early.\n\n## Test plan\n\n- Step 1: %s\n", title, sentence, sentence)}
}

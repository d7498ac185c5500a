package demo

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// An errand is the work on a document whose result is reported with a tool.
type errand struct {
	tool     string
	document string
	reminded bool // the document stands in an earlier prompt, which ended without a report
}

// A finding is what the demo makes of a document.
type finding struct {
	thoughts []string       // its reasoning, a line each
	progress string         // what it says meanwhile, after the size of the document
	args     map[string]any // of the tool
	told     string         // what it says in the end
}

// reason streams reasoning line by line.
type reason struct{ lines []string }

func (s reason) run(_ context.Context, _ *turn, a *answer) error {
	for _, line := range s.lines {
		if err := a.reason(line + "\n"); err != nil {
			return err
		}
	}
	return nil
}

// errand recognises work that is to be reported: a tool for that is offered, and the prompt has a document, or names
// the tool, as a prompt does that has lost its document and one that reminds of the report.
func (t *turn) errand() (errand, bool) {
	for _, tool := range []string{"report_questions", "report_analysis", "report_plan"} {
		if _, offered := t.offers([]string{tool}); offered && (t.fresh || strings.Contains(t.prompt, tool)) {
			return errand{tool: tool, document: t.document, reminded: !t.fresh}, true
		}
	}
	return errand{}, false
}

// steps are what the document's first line says, if it says something, and then the work on it.
func (e errand) steps(dir string) []step {
	directions := stageDirections(e.document)
	var steps []step
	if !e.reminded {
		steps, _ = recognize(directions, dir)
	}
	found := passages(e.document)
	if len(found) == 0 {
		return append(steps, say{"I got no document, so there is nothing that I could report.\n"})
	}
	if forgets(directions, e.reminded) {
		return append(steps, say{"I have read it all, and forget to report.\n"})
	}
	f := e.work(found)
	reading := fmt.Sprintf("## Reading\n\nCharacters: %d\n", utf8.RuneCountInString(e.document))
	return append(steps, reason{f.thoughts}, say{reading + f.progress}, call{tools: []string{e.tool}, args: f.args}, say{f.told})
}

func (e errand) work(found []passage) finding {
	switch e.tool {
	case "report_questions":
		return clarify(found)
	case "report_analysis":
		return analyze(found)
	default:
		return makePlan(found)
	}
}

// forgets says whether no report is made: with forget until it is reminded, with forget always not even then.
func forgets(directions string, reminded bool) bool {
	tokens := tokenize(directions)
	i := slices.IndexFunc(tokens, func(t token) bool { return t.plain() == "forget" })
	if i < 0 {
		return false
	}
	return !reminded || i+1 < len(tokens) && tokens[i+1].plain() == "always"
}

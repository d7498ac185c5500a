package demo

import (
	"fmt"
	"regexp"
	"strings"
)

// mostSteps is how many steps a plan of the demo has at most.
const mostSteps = 30

// A requirement becomes a step.
type requirement struct{ heading, text string }

// makePlan makes a step of each requirement.
func makePlan(found []passage) finding {
	title := titleOf(found)
	all := requirements(found)
	return finding{
		thoughts: []string{"Reading specification document...", fmt.Sprintf("Found %d requirements.", len(all)), "Each of them becomes a step of the plan."},
		progress: fmt.Sprintf("Requirements: %d\n\n## Decisions\n\n- One step for each requirement, in the order of the specification.\n", len(all)),
		args:     map[string]any{"title": "Plan: " + title, "document": planDocument(title, all[:min(len(all), mostSteps)])},
		told:     fmt.Sprintf("Plan reported. Steps: %d.\n", min(len(all), mostSteps)),
	}
}

// requirements are list items and sentences of duty; where there are none, the headings below the first level; else what there is.
func requirements(found []passage) []requirement {
	ends := sentenceEnds()
	duty := regexp.MustCompile(`(?i)\b(?:must|shall|should|has to|have to|needs? to)\b`)
	for _, wanted := range []func(passage, string) bool{
		func(p passage, s string) bool { return p.kind == item || p.kind == paragraph && duty.MatchString(s) },
		func(p passage, _ string) bool { return p.kind == heading && p.level > 1 },
		func(p passage, _ string) bool { return p.kind == paragraph },
		func(passage, string) bool { return true },
	} {
		var all []requirement
		for _, p := range found {
			for _, s := range parts(p, ends) {
				if wanted(p, s) {
					all = append(all, requirement{p.heading, s})
				}
			}
		}
		if len(all) > 0 {
			return all
		}
	}
	return nil
}

// parts are the sentences of a paragraph. Items and headings are taken whole.
func parts(p passage, ends *regexp.Regexp) []string {
	if p.kind == paragraph {
		return sentences(p.text, ends)
	}
	return []string{p.text}
}

func planDocument(title string, all []requirement) string {
	const enough = 300
	var steps, tests strings.Builder
	for i, r := range all {
		text, before := shorten(r.text, enough), "none"
		if i > 0 {
			before = fmt.Sprint(i)
		}
		fmt.Fprintf(&steps, "%d. **%s**", i+1, text)
		if r.heading != "" && r.heading != r.text {
			fmt.Fprintf(&steps, " (%s)", r.heading)
		}
		fmt.Fprintf(&steps, "\n   - **Depends on:** %s\n   - **Check:** a test shows it.\n   - **Size:** S\n", before)
		fmt.Fprintf(&tests, "- Step %d: %s\n", i+1, text)
	}
	return fmt.Sprintf("# Plan: %s\n\n## Goal\n\nWhat the specification '%s' asks for. This plan is made by the demo, a script without intelligence.\n\n"+
		"## Assumptions\n\n- We assume that the specification is complete, because the demo cannot tell.\n\n"+
		"## Architecture decisions\n\n- One step for each requirement. Rejected: all at once, for it could not be reviewed.\n\n"+
		"## Steps\n\n%s\n## Risks\n\n- A requirement is misunderstood. A review after each step shows it early.\n\n## Test plan\n\n%s",
		title, title, steps.String(), tests.String())
}

package demo

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// An analysis is what the demo finds in a breakdown.
type analysis struct {
	tasks    []task
	findings []map[string]any
	circular []string
	missing  []map[string]any
}

// The most that is reported of one kind.
const mostReported = 50

// analyze looks for estimates, dependencies, and tasks for tests and errors.
func analyze(found []passage) finding {
	a := analysis{tasks: tasksIn(found), findings: []map[string]any{}, circular: []string{}, missing: []map[string]any{}}
	if len(a.tasks) == 0 {
		a.warn("", "There is no task in the document. Write the work down as a list.")
	} else {
		a.circular = append(a.circular, circles(a.tasks)...)
		a.checkOrder()
		a.checkEstimates()
		a.checkMissing()
	}
	a.findings, a.circular = a.findings[:min(len(a.findings), mostReported)], a.circular[:min(len(a.circular), mostReported)]
	return finding{
		thoughts: []string{"Parsing task document...", fmt.Sprintf("Found %d tasks. Checking for dependencies and risks...", len(a.tasks))},
		progress: fmt.Sprintf("Tasks: %d\n\n## Checks\n\nDependencies: %d\nCircular dependencies: %d\nMissing tasks: %d\n",
			len(a.tasks), a.dependencies(), len(a.circular), len(a.missing)),
		args: map[string]any{
			"completeness": a.completeness(), "risk": a.risk(), "summary": a.summary(),
			"findings": a.findings, "circular": a.circular, "missing": a.missing,
		},
		told: fmt.Sprintf("Analysis reported. Findings: %d.\n", len(a.findings)),
	}
}

func (a *analysis) add(severity, tasks, text string) {
	a.findings = append(a.findings, map[string]any{"task": shorten(tasks, longestText), "severity": severity, "text": text})
}

func (a *analysis) warn(tasks, text string) { a.add("warning", tasks, text) }

// checkOrder finds tasks that stand before what they need, or need what is no task.
func (a *analysis) checkOrder() {
	for i, t := range a.tasks {
		for _, j := range t.needs {
			if j > i {
				a.warn(t.name, fmt.Sprintf("Stands before %s, on which it depends. Move it behind that.", a.tasks[j].name))
			}
		}
		if len(t.lacks) > 0 {
			a.warn(t.name, fmt.Sprintf("Depends on %s, which is no task of this document.", shorten(strings.Join(t.lacks, ", "), longestText)))
		}
	}
}

func (a *analysis) checkEstimates() {
	var names []string
	for _, t := range a.tasks {
		if !t.estimated() {
			names = append(names, t.name)
		}
	}
	if len(names) == 0 {
		a.add("info", "", "Every task has an effort estimate.")
		return
	}
	a.warn(strings.Join(names, ", "), "No effort estimate. Recommend T-shirt sizing (S/M/L) or story points.")
}

func (a *analysis) checkMissing() {
	if !a.mention(`(?i)\b(?:error|errors|fail|failure|failures|recover|recovery|retry|retries)\b`) {
		a.missing = append(a.missing, map[string]any{
			"title": "Error Handling & Recovery", "reason": "No task says what happens when something fails.", "after": a.tasks[0].name,
		})
	}
	if !a.mention(`(?i)\b(?:e2e|tests?|testing|tested)\b`) {
		a.missing = append(a.missing, map[string]any{
			"title": "Integration Testing Suite", "reason": "No task shows that the others work.", "after": "all feature tasks",
		})
	}
}

func (a *analysis) mention(words string) bool {
	r := regexp.MustCompile(words)
	return slices.ContainsFunc(a.tasks, func(t task) bool { return r.MatchString(t.text) })
}

func (a *analysis) dependencies() int {
	n := 0
	for _, t := range a.tasks {
		n += len(t.needs) + len(t.lacks)
	}
	return n
}

// completeness is a simple sum: a missing task costs more than a circle.
func (a *analysis) completeness() int {
	if len(a.tasks) == 0 {
		return 0
	}
	const forMissing, forCircle = 15, 10
	return max(0, 100-forMissing*len(a.missing)-forCircle*len(a.circular))
}

func (a *analysis) risk() string {
	warned := slices.ContainsFunc(a.findings, func(f map[string]any) bool { return f["severity"] == "warning" })
	switch {
	case len(a.tasks) == 0 || len(a.circular) > 0:
		return "HIGH"
	case warned || len(a.missing) > 0:
		return "MEDIUM"
	default:
		return "LOW"
	}
}

func (a *analysis) summary() string {
	switch {
	case len(a.tasks) == 0:
		return "The document has no tasks. The demo, a script without intelligence, looked for headings and list items."
	case len(a.circular) > 0:
		return fmt.Sprintf("The %d tasks cannot be done in any order. Cut the circular dependencies first.", len(a.tasks))
	default:
		return fmt.Sprintf("The %d tasks can be done one after another. Act on the warnings and add what is missing.", len(a.tasks))
	}
}

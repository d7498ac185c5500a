package report

import (
	"fmt"
	"strings"
)

// markdown formats the analysis as a document. It says so if there are no findings.
func (a analysis) markdown() string {
	var b strings.Builder
	cycles := "none"
	if len(a.Circular) > 0 {
		cycles = fmt.Sprint(len(a.Circular))
	}
	fmt.Fprintf(&b, "# Task analysis\n\n%s\n\n", a.Summary)
	fmt.Fprintf(&b, "- **Completeness:** %.0f/100\n- **Risk:** %s\n- **Circular dependencies:** %s\n- **Missing tasks:** %d\n",
		a.Completeness, a.Risk, cycles, len(a.Missing))
	var warnings, notes []string
	for _, cycle := range a.Circular {
		warnings = append(warnings, "Circular dependency: "+cycle)
	}
	for _, f := range a.Findings {
		if f.Severity == warning {
			warnings = append(warnings, f.item())
		} else {
			notes = append(notes, f.item())
		}
	}
	var additions []string
	for _, m := range a.Missing {
		additions = append(additions, m.item())
	}
	list(&b, "Warnings", warnings)
	list(&b, "Notes", notes)
	list(&b, "Recommended additions", additions)
	return b.String()
}

func list(b *strings.Builder, heading string, items []string) {
	fmt.Fprintf(b, "\n## %s\n\n", heading)
	if len(items) == 0 {
		b.WriteString("None.\n")
	}
	for _, item := range items {
		fmt.Fprintf(b, "- %s\n", indent(item, 2))
	}
}

func (f finding) item() string {
	if f.Task == "" {
		return f.Text
	}
	return fmt.Sprintf("**%s:** %s", f.Task, f.Text)
}

func (m missing) item() string {
	after := ""
	if m.After != "" {
		after = " (depends on " + m.After + ")"
	}
	return fmt.Sprintf("**%s**%s: %s", m.Title, after, m.Reason)
}

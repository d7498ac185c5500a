package report

import (
	"fmt"
	"strings"
)

// The sections that every analysis has.
const (
	sectionResults         = "Results"
	sectionWarnings        = "Warnings"
	sectionRecommendations = "Recommendations"
)

const warning = "warning"

type analysis struct {
	Completeness float64   `json:"completeness"`
	Risk         string    `json:"risk"`
	Summary      string    `json:"summary"`
	Findings     []finding `json:"findings"`
	Circular     []string  `json:"circular"`
	Missing      []missing `json:"missing"`
	Document     string    `json:"document"`
}

type finding struct {
	Task     string `json:"task"`
	Severity string `json:"severity"`
	Text     string `json:"text"`
}

type missing struct {
	Title  string `json:"title"`
	Reason string `json:"reason"`
	After  string `json:"after"`
}

func (a *analysis) check(k *checker) {
	k.text("summary", &a.Summary)
	for i := range a.Findings {
		f := &a.Findings[i]
		f.Task = strings.TrimSpace(f.Task)
		k.text(fmt.Sprintf("findings[%d].text", i), &f.Text)
	}
	k.choices("circular", a.Circular)
	for i := range a.Missing {
		m := &a.Missing[i]
		k.text(fmt.Sprintf("missing[%d].title", i), &m.Title)
		k.text(fmt.Sprintf("missing[%d].reason", i), &m.Reason)
		m.After = strings.TrimSpace(m.After)
	}
}

func (a analysis) report() Report {
	a.Document = a.markdown()
	return Report{lines: a.lines(), document: a.Document, result: encode(a), summary: a.summary()}
}

// summary returns the text of the complete message.
func (a analysis) summary() string {
	warnings := len(a.Circular)
	for _, f := range a.Findings {
		if f.Severity == warning {
			warnings++
		}
	}
	return fmt.Sprintf("Analysis complete. Completeness %.0f/100, risk %s, %s, %s. Review them and update the task document if needed.",
		a.Completeness, a.Risk, plural(warnings, "warning", "warnings"), plural(len(a.Missing), "missing task", "missing tasks"))
}

func (a analysis) lines() []Line {
	lines := []Line{{Text: a.results() + "\n\n" + a.Summary, Subsection: sectionResults}}
	for _, cycle := range a.Circular {
		lines = append(lines, Line{Text: "WARNING: Circular dependency: " + cycle, Subsection: sectionWarnings, Warning: true})
	}
	for _, f := range a.Findings {
		lines = append(lines, f.line())
	}
	if len(a.Missing) == 0 {
		return lines
	}
	text := "Recommended additions:"
	for i, m := range a.Missing {
		text += fmt.Sprintf("\n%d. %s: %s", i+1, m.name(), indent(m.Reason, 3))
	}
	return append(lines, Line{Text: text, Subsection: sectionRecommendations})
}

func (f finding) line() Line {
	text := f.Text
	if f.Task != "" {
		text = f.Task + ": " + text
	}
	if f.Severity == warning {
		return Line{Text: "WARNING: " + text, Subsection: sectionWarnings, Warning: true}
	}
	return Line{Text: text, Subsection: sectionResults}
}

// results returns the figures of spec/contracts/websocket.md, "Operation: Analyze Task Breakdown".
func (a analysis) results() string {
	cycles := "None"
	if len(a.Circular) > 0 {
		cycles = fmt.Sprintf("%d (%s)", len(a.Circular), strings.Join(a.Circular, "; "))
	}
	lacking := "None"
	if len(a.Missing) > 0 {
		var titles []string
		for _, m := range a.Missing {
			titles = append(titles, m.Title)
		}
		lacking = fmt.Sprintf("%d (%s)", len(titles), strings.Join(titles, ", "))
	}
	return fmt.Sprintf("Analysis Results:\n- Completeness Score: %.0f/100\n- Risk Level: %s\n- Identified Circular Dependencies: %s\n- Missing Tasks Detected: %s",
		a.Completeness, a.Risk, cycles, lacking)
}

// name returns a missing task with its dependency.
func (m missing) name() string {
	if m.After == "" {
		return fmt.Sprintf("'%s' task", m.Title)
	}
	return fmt.Sprintf("'%s' task (depends on %s)", m.Title, m.After)
}

package spec

import (
	"fmt"
	"strings"
)

// Fault is one mistake in a description.
type Fault struct {
	// Path says where it is, as in `endpoints[3].method`; of the whole description it is ".".
	Path string
	// Line counts from 1; 0 is unknown.
	Line int
	Text string
}

// Error has the form `endpoints[3].method: is missing`, with the line before it if that is known.
func (f Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s", f.Path, f.Text)
	}
	return fmt.Sprintf("%d: %s: %s", f.Line, f.Path, f.Text)
}

// Faults are all mistakes that were found; there is at least one.
type Faults []Fault

// Error has a line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

func fault(format string, args ...any) Faults {
	return Faults{{Path: ".", Text: oneLine(fmt.Sprintf(format, args...))}}
}

// oneLine is for texts of libraries, and not all of what they say.
func oneLine(s string) string {
	const most = 500
	if runes := []rune(strings.Join(strings.Fields(s), " ")); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return strings.Join(strings.Fields(s), " ")
}

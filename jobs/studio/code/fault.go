package code

import (
	"fmt"
	"strings"
)

// Fault is one thing that is wrong with code.
type Fault struct {
	// Line and Column count from 1; 0 is unknown. What the scan refuses has none, but quotes the code.
	Line, Column int
	Text         string
}

// Error has the form `12:5: Unexpected ")"`.
func (f Fault) Error() string {
	if f.Line == 0 {
		return f.Text
	}
	return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, f.Text)
}

// Faults are all that was found; there is at least one.
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
	return Faults{{Text: fmt.Sprintf(format, args...)}}
}

package book

import (
	"fmt"
	"strings"
)

// Fault is one mistake in a book.
type Fault struct {
	// File is the name that Load was given.
	File string
	// Path says where in the book it is, as in `jobs.refine.work.works[2].taskId`; of the whole file it is ".".
	Path string
	// Line counts from 1; 0 is unknown.
	Line int
	Text string
}

// Error has the form that editors can follow: `jobs.yaml:12: jobs.refine.work.works[2].taskId: "x" is not a task`.
func (f Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.File, f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Path, f.Text)
}

// Faults are all mistakes of a book, in the order of their lines.
type Faults []Fault

// Error has a line for each fault.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

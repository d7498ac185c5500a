package book

import (
	"fmt"
	"strings"
)

// Fault is one error in a book.
type Fault struct {
	// File is the name passed to Load.
	File string
	// Path is the position in the book, such as `jobs.refine.work.works[2].taskId`, or "." for the whole
	// file.
	Path string
	// Line starts at 1; 0 means unknown.
	Line int
	Text string
}

// Error formats the fault so that editors can jump to it: `jobs.yaml:12: jobs.refine.work.works[2].taskId:
// "x" is not a task`.
func (f Fault) Error() string {
	if f.Line == 0 {
		return fmt.Sprintf("%s: %s: %s", f.File, f.Path, f.Text)
	}
	return fmt.Sprintf("%s:%d: %s: %s", f.File, f.Line, f.Path, f.Text)
}

// Faults are all errors of a book, in the order of their lines.
type Faults []Fault

// Error formats one fault per line.
func (f Faults) Error() string {
	lines := make([]string, len(f))
	for i, fault := range f {
		lines[i] = fault.Error()
	}
	return strings.Join(lines, "\n")
}

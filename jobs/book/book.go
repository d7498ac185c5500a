// Package book reads job books: their tasks, their jobs and the prompts of these. It runs nothing. A book
// returned by Load is valid, so its users need not check it again.
package book

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Driving is the category that every book must define: the model of driving sessions, which check the work of
// others.
const Driving = "driving"

// Book is a valid job book. It is immutable and safe for concurrent use.
type Book struct {
	Models    Models
	Variables map[string][]string
	Tasks     map[string]Task
	Jobs      map[string]Job
	Grid      []Row // layout of the job buttons; the default is one row with all jobs

	source Source
}

// Source is the file that a book was read from.
type Source struct {
	Name string // name of the file
	Text []byte // must not be modified
}

// Source returns the arguments of Load, which produce the same book again.
func (b *Book) Source() Source { return b.source }

// Models are the models that a book uses. An empty model id means the portal's default model, so a book need
// not name any.
type Models struct {
	// ByCategory contains the model id of each category, always including Driving.
	ByCategory map[string]string
	// Retries lists the models for resending a failed request of a driving session. It is never empty, and
	// its first element is the driving model.
	Retries []Retry
}

// Retry is one model and how often a request is sent again to it.
type Retry struct {
	ModelID string
	Retries int
}

// ModelRef names a model by category or id. The zero value names none.
type ModelRef struct {
	Category string `json:"category,omitempty"`
	ID       string `json:"id,omitempty"`
}

// Task is work for one session.
type Task struct {
	// Model is the model of the task. The default is the driving model.
	Model            ModelRef
	Prompt           []string
	RequireUserInput bool
	// Availability is nil if the task is always available.
	Availability *Availability
	// Criteria is nil if the task is done as soon as its prompt is answered.
	Criteria *Criteria
}

// Availability is a question that the agent must answer with true before the task starts.
type Availability struct {
	Condition []string
}

// Criteria say when a task is done. At least one of ToolExecuted and Condition is set.
type Criteria struct {
	// ToolExecuted lists the job tools that the agent must call.
	ToolExecuted []string
	// Condition is a question that the agent must answer with true.
	Condition []string
	// RunConditionInSameSession defaults to true.
	RunConditionInSameSession bool
	FailureAction             FailureAction
}

// FailureAction says what happens if the criteria are not met.
type FailureAction struct {
	// RetryTimes is how often the prompt is sent again.
	RetryTimes int
	// AdditionalPrompt is appended to the prompt of each retry; it may be empty.
	AdditionalPrompt []string
}

// Job is a tree of works.
type Job struct {
	Work *Work `json:"work"`
	// RequireUserInput is true if one of the job's tasks requires user input.
	RequireUserInput bool `json:"requireUserInput"`
}

// Row is a row of buttons in the page.
type Row struct {
	Keyword string `json:"keyword"`
	// Jobs contains nil for each gap in the row.
	Jobs []*Button `json:"jobs"`
}

// Button starts a job.
type Button struct {
	Name    string `json:"name"`
	JobName string `json:"jobName"`
}

// Model returns the model id for a task: that of the override, else of the task's reference, else of the
// driving model. An empty id means the portal's default model.
func (b *Book) Model(ref, override ModelRef) string {
	for _, r := range []ModelRef{override, ref} {
		if r.ID != "" {
			return r.ID
		}
		if r.Category != "" {
			return b.Models.ByCategory[r.Category]
		}
	}
	return b.Models.ByCategory[Driving]
}

// NodeKind is the kind of a node in a chart.
type NodeKind string

// The kinds of nodes.
const (
	TaskNode  NodeKind = "TaskNode"  // a task
	CondNode  NodeKind = "CondNode"  // a task that is a condition
	ParBegin  NodeKind = "ParBegin"  // start of parallel branches
	ParEnd    NodeKind = "ParEnd"    // end of parallel branches
	CondBegin NodeKind = "CondBegin" // start of a condition made of several works
	CondEnd   NodeKind = "CondEnd"   // end of that condition, where it is decided
	LoopEnd   NodeKind = "LoopEnd"   // exit of a loop
	AltEnd    NodeKind = "AltEnd"    // where both branches of an Alt join
)

// Node is a node in the flow chart of a job.
type Node struct {
	// ID is the position in the list, starting at 1.
	ID     int     `json:"id"`
	Hint   Hint    `json:"hint"`
	Label  string  `json:"label,omitempty"`
	Arrows []Arrow `json:"arrows"`
}

// Hint says what a node shows. Work is 0 if the node does not stand for a work.
type Hint struct {
	Kind NodeKind
	Work int
}

// MarshalJSON encodes the hint as [kind, workId], or as the kind alone.
func (h Hint) MarshalJSON() ([]byte, error) {
	if h.Work == 0 {
		return json.Marshal(h.Kind)
	}
	return json.Marshal([]any{h.Kind, h.Work})
}

// Arrow is an edge to another node.
type Arrow struct {
	To       int    `json:"to"`
	LoopBack bool   `json:"loopBack"`
	Label    string `json:"label,omitempty"`
}

//go:embed builtin.yaml
var builtIn []byte

// BuiltIn returns the portal's own book, for repositories without one. It names no models: its driving model
// is the portal's default.
func BuiltIn() *Book {
	b, err := Load("builtin.yaml", builtIn)
	if err != nil {
		panic(err) // the book is part of the program, and tests check it
	}
	return b
}

// BuiltInText returns the source of the built-in book, as a start for other books.
func BuiltInText() string { return string(builtIn) }

// Find returns the path of the book of the repository with the given root. It also finds a book that cannot
// be read, so that reading it reports why.
func Find(root string) (path string, ok bool) {
	path = filepath.Join(root, ".portal", "jobs.yaml")
	_, err := os.Stat(path)
	return path, !errors.Is(err, fs.ErrNotExist)
}

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

// Package book reads job books: which tasks there are, which jobs are made of them, and what their prompts say. It is the
// pure part of jobs: nothing here runs anything. A book that Load returned has no mistakes, so whoever runs it needs not
// look again.
package book

// Driving is the category that every book must have: the model of the driving sessions, which check what others did.
const Driving = "driving"

// Book is a job book without mistakes. It is never changed after Load, so everybody may read it at the same time.
type Book struct {
	Models    Models
	Variables map[string][]string
	Tasks     map[string]Task
	Jobs      map[string]Job
	Grid      []Row // how buttons of jobs are laid out; one row with all jobs if the book does not say

	source Source
}

// Source is what a book was read from.
type Source struct {
	Name string // of the file
	Text []byte // is not to be changed
}

// Source is what Load was given, from which it makes the same book again.
func (b *Book) Source() Source { return b.source }

// Models says which models a book works with. An empty model id is the portal's default model, so that a book can do
// without naming any.
type Models struct {
	// ByCategory has a model id for each category; Driving is always among them.
	ByCategory map[string]string
	// Retries says on which models a request of a driving session that crashed is sent again. It is never empty, and the
	// first is the driving model.
	Retries []Retry
}

// Retry is one model of the round that driving sessions make, and how often a request is sent again on it.
type Retry struct {
	ModelID string
	Retries int
}

// ModelRef names a model by its category or by its id. The zero value names none.
type ModelRef struct {
	Category string `json:"category,omitempty"`
	ID       string `json:"id,omitempty"`
}

// Task is one thing to do in a session.
type Task struct {
	// Model is the task's own model; without one it is the driving model.
	Model            ModelRef
	Prompt           []string
	RequireUserInput bool
	// Availability is nil for a task that can always be done.
	Availability *Availability
	// Criteria is nil for a task that is done when its prompt was answered.
	Criteria *Criteria
}

// Availability is the question that must be answered with true before a task begins.
type Availability struct {
	Condition []string
}

// Criteria says when a task is done. At least one of ToolExecuted and Condition is there.
type Criteria struct {
	// ToolExecuted lists the job tools that the agent must have called.
	ToolExecuted []string
	// Condition is the question that must be answered with true.
	Condition []string
	// RunConditionInSameSession is true unless the book says otherwise.
	RunConditionInSameSession bool
	FailureAction             FailureAction
}

// FailureAction says what happens when the criteria are not met.
type FailureAction struct {
	// RetryTimes is how often the prompt is given again; 0 is never.
	RetryTimes int
	// AdditionalPrompt follows the prompt when it is given again; it may be empty.
	AdditionalPrompt []string
}

// Job is a tree of works.
type Job struct {
	Work *Work `json:"work"`
	// RequireUserInput is true if a task in it requires user input.
	RequireUserInput bool `json:"requireUserInput"`
}

// Row is a row of buttons on the page.
type Row struct {
	Keyword string `json:"keyword"`
	// Jobs has nil where the row has a hole.
	Jobs []*Button `json:"jobs"`
}

// Button starts a job.
type Button struct {
	Name    string `json:"name"`
	JobName string `json:"jobName"`
}

// Model tells the model id that a task runs on: that of the override, else that of the task itself, else the driving model.
// An empty id is the portal's default model.
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

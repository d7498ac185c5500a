// Package book reads job books: their tasks, their jobs and the prompts of these. It runs nothing. A book
// returned by Load is valid, so its users need not check it again.
package book

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

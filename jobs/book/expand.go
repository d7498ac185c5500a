package book

// The variables that get their values when a task runs.
const (
	UserInput           = "user-input"
	TaskModel           = "task-model"
	ReportedDocument    = "reported-document"
	ReportedTrueReason  = "reported-true-reason"
	ReportedFalseReason = "reported-false-reason"
)

// Missing stands where a variable has no value.
const Missing = "<MISSING>"

// Expand makes one text of a prompt: its lines, with the book's variables and the given values (by names without "$") in
// their places. A value is never expanded itself. What has no value reads Missing.
func (b *Book) Expand(prompt []string, values map[string]string) string { return "" }

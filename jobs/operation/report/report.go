package report

import "encoding/json"

// Type is what an operation does with its document.
type Type string

// The types of operations.
const (
	Clarify Type = "clarify" // questions about a specification
	Analyze Type = "analyze" // what is wrong with a task breakdown
	Plan    Type = "plan"    // a plan for a specification
	Free    Type = "prompt"  // whatever the prompt says; its result is the answer's text
)

// Types lists all types.
func Types() []Type { return []Type{Clarify, Analyze, Plan, Free} }

// Input is what an operation works on.
type Input struct {
	Document string
	Name     string // what the document is called, such as its path; may be empty
	Prompt   string // what the user wishes; all of it for Free, else something that is added to the prompt of the type
}

// A Line is something to tell the clients of an operation.
type Line struct {
	Text       string
	Subsection string // one of Sections, or empty
	Warning    bool   // it is told as an error
}

// A Report is the checked result of an operation.
type Report struct {
	lines    []Line
	document string
	result   json.RawMessage
	summary  string
}

// Lines are what is told about the result, in the order in which it is.
func (r Report) Lines() []Line { return r.lines }

// Document is the result as Markdown, which is what is persisted.
func (r Report) Document() string { return r.document }

// JSON is the result as REST clients get it.
func (r Report) JSON() json.RawMessage { return r.result }

// Summary is what the complete message says.
func (r Report) Summary() string { return r.summary }

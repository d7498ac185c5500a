package report

import "encoding/json"

// Type is the kind of work of an operation.
type Type string

// The types of operations.
const (
	Clarify Type = "clarify" // asks questions about a specification
	Analyze Type = "analyze" // finds problems in a task breakdown
	Plan    Type = "plan"    // plans the implementation of a specification
	Free    Type = "prompt"  // runs any prompt; the result is the text of the answer
)

// Types returns all types.
func Types() []Type { return []Type{Clarify, Analyze, Plan, Free} }

// Input is the input of an operation.
type Input struct {
	Document string
	Name     string // name of the document, such as its path; may be empty
	Prompt   string // the user's instructions: the whole prompt for Free, otherwise added to that of the type
}

// A Line is one message about the result.
type Line struct {
	Text       string
	Subsection string // one of Sections, or ""
	Warning    bool   // shown as an error
}

// A Report is the validated result of an operation.
type Report struct {
	lines    []Line
	document string
	result   json.RawMessage
	summary  string
}

// Lines returns the messages about the result, in order.
func (r Report) Lines() []Line { return r.lines }

// Document returns the result as Markdown, for persisting.
func (r Report) Document() string { return r.document }

// JSON returns the result as in the REST API.
func (r Report) JSON() json.RawMessage { return r.result }

// Summary returns the text of the complete message.
func (r Report) Summary() string { return r.summary }

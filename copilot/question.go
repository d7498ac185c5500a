package copilot

import "slices"

// Question is something the agent wants to know before it goes on.
type Question struct {
	ID   string
	Kind QuestionKind
	Call string // the tool call it belongs to, "" if none

	// Of a permission: what the agent wants to do.
	Names  []string // what is asked for, by the names of [Policy]; at least one
	Path   string   // of a file to be read, links followed; "" if it is about none
	Opaque bool     // it runs code given as text, so Names cannot tell all it does
	Title  string   // one line for people
	Detail string   // the whole command, the diff, the address

	// Of user input.
	Text     string
	Choices  []string
	Freeform bool // an answer besides the choices is welcome
}

// QuestionKind tells which answer a question wants.
type QuestionKind string

// The kinds of question.
const (
	AskPermission QuestionKind = "permission"
	AskInput      QuestionKind = "input"
)

// Answer to a question: Approved, Remember and Reason to a permission, Text to
// user input.
type Answer struct {
	Approved bool
	Remember bool   // the same answer for the rest of the session
	Reason   string // of a refusal; the model reads it
	Text     string
}

// Ending says how a question ended.
type Ending string

// The endings of a question.
const (
	Answered  Ending = "answered"
	Withdrawn Ending = "cancelled" // its run ended first
)

// check refuses an answer that the question does not allow.
func (q Question) check(a Answer) error {
	switch {
	case q.Kind == AskPermission && a.Text != "":
		return Errorf(Invalid, "the question wants a permission and no text")
	case q.Kind == AskInput && a.Approved:
		return Errorf(Invalid, "the question wants a text and no permission")
	case q.Kind == AskInput && a.Text == "" && !slices.Contains(q.Choices, ""):
		return Errorf(Invalid, "the question wants a text")
	case q.Kind != AskInput || q.Freeform || slices.Contains(q.Choices, a.Text):
		return nil
	}
	return Errorf(Invalid, "%q is not among the choices %q", a.Text, q.Choices)
}

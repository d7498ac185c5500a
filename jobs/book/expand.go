package book

import (
	"iter"
	"regexp"
	"slices"
	"strings"
)

// Variables that get their values when a task runs.
const (
	UserInput           = "user-input"
	TaskModel           = "task-model"
	ReportedDocument    = "reported-document"
	ReportedTrueReason  = "reported-true-reason"
	ReportedFalseReason = "reported-false-reason"
)

// Missing replaces variables without a value.
const Missing = "<MISSING>"

func atRunTime(name string) bool {
	return slices.Contains([]string{UserInput, TaskModel, ReportedDocument, ReportedTrueReason, ReportedFalseReason}, name)
}

// Expand joins the lines of a prompt and replaces variables by their values in the book and by the given
// ones, whose names have no "$". It does not expand values again. Variables without a value become Missing.
func (b *Book) Expand(prompt []string, values map[string]string) string {
	var out strings.Builder
	b.expand(&out, prompt, values)
	return out.String()
}

func (b *Book) expand(out *strings.Builder, lines []string, values map[string]string) {
	rest := strings.Join(lines, "\n")
	for rest != "" {
		before, name, after := cut(rest)
		out.WriteString(before)
		nested, isVariable := b.Variables[name]
		value, known := values[name]
		switch {
		case name == "":
		case isVariable:
			b.expand(out, nested, values)
		case known:
			out.WriteString(value)
		default:
			out.WriteString(Missing)
		}
		rest = after
	}
}

// cut splits a text at its first variable. Without one, all of the text is before. A "$" that is not followed
// by a letter is literal, so `${HOME}` and `$(date)` need no escaping.
func cut(s string) (before, name, after string) {
	for at, c := range []byte(s) {
		if c != '$' {
			continue
		}
		if n := nameLength(s[at+1:]); n > 0 {
			return s[:at], s[at+1 : at+1+n], s[at+1+n:]
		}
	}
	return s, "", ""
}

// variableName has ASCII letters only, because in many scripts no space would end the name.
var variableName = regexp.MustCompile(`^[A-Za-z]+(?:-[A-Za-z]+)*`)

// nameLength returns the length of the variable's name at the start of a text.
func nameLength(s string) int { return len(variableName.FindString(s)) }

// names yields the variables that a text uses, in order.
func names(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest := s; rest != ""; {
			_, name, after := cut(rest)
			if name != "" && !yield(name) {
				return
			}
			rest = after
		}
	}
}

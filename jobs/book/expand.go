package book

import (
	"iter"
	"strings"
)

// The variables that get their values when a task runs.
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
	switch name {
	case UserInput, TaskModel, ReportedDocument, ReportedTrueReason, ReportedFalseReason:
		return true
	}
	return false
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
		if name != "" {
			b.insert(out, name, values)
		}
		rest = after
	}
}

func (b *Book) insert(out *strings.Builder, name string, values map[string]string) {
	if lines, ok := b.Variables[name]; ok {
		b.expand(out, lines, values)
		return
	}
	value, ok := values[name]
	if !ok {
		value = Missing
	}
	out.WriteString(value)
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

// nameLength returns the length of the name at the start of a text: ASCII letters and -letters. Only ASCII,
// because in many scripts no space would end the name.
func nameLength(s string) int {
	end := letters(s)
	for end > 0 && end < len(s) && s[end] == '-' {
		more := letters(s[end+1:])
		if more == 0 {
			break
		}
		end += 1 + more
	}
	return end
}

func letters(s string) int {
	n := 0
	for n < len(s) && (s[n] >= 'a' && s[n] <= 'z' || s[n] >= 'A' && s[n] <= 'Z') {
		n++
	}
	return n
}

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

package book

import (
	"slices"
	"strings"
)

// The tools with which an agent reports the result of a task. Each has one argument.
const (
	PrepareDocument    = "job_prepare_document"
	BooleanTrue        = "job_boolean_true"
	BooleanFalse       = "job_boolean_false"
	PrerequisiteFailed = "job_prerequisite_failed"
)

func (l *loader) tasks(s located) {
	entries := s.entries()
	if s.shape == object && len(entries) == 0 {
		s.fault("must not be empty")
	}
	for _, p := range entries {
		at := s.key(p)
		at.checkName(p)
		l.book.Tasks[p.key] = l.task(at)
	}
}

func (l *loader) task(s located) (t Task) {
	f, ok := s.fields("model", "prompt", "requireUserInput", "availability", "criteria")
	if !ok {
		return t
	}
	f.may("model", func(s located) { t.Model = l.model(s) })
	f.must("prompt", func(s located) { t.Prompt = l.prompt(s) })
	f.may("requireUserInput", func(s located) { t.RequireUserInput = s.boolean() })
	f.may("availability", func(s located) {
		t.Availability = &Availability{}
		if f, ok := s.fields("condition"); ok {
			f.must("condition", func(s located) { t.Availability.Condition = l.prompt(s) })
		}
	})
	f.may("criteria", func(s located) { t.Criteria = l.criteria(s) })
	return t
}

func (l *loader) criteria(s located) *Criteria {
	c := &Criteria{RunConditionInSameSession: true}
	f, ok := s.fields("toolExecuted", "condition", "runConditionInSameSession", "failureAction")
	if !ok {
		return c
	}
	tools := f.may("toolExecuted", func(s located) { c.ToolExecuted = s.tools() })
	condition := f.may("condition", func(s located) { c.Condition = l.prompt(s) })
	if !tools && !condition {
		s.fault("must have toolExecuted or condition")
	}
	f.may("runConditionInSameSession", func(s located) { c.RunConditionInSameSession = s.boolean() })
	f.must("failureAction", func(s located) { c.FailureAction = l.failureAction(s) })
	return c
}

func (l *loader) failureAction(s located) (a FailureAction) {
	f, ok := s.fields("retryTimes", "additionalPrompt")
	if !ok {
		return a
	}
	f.must("retryTimes", func(s located) { a.RetryTimes = s.integer(0) })
	f.may("additionalPrompt", func(s located) { a.AdditionalPrompt = l.prompt(s) })
	return a
}

// tools reads the names of required tools. The tool that ends a task as failed cannot be required.
func (s located) tools() (names []string) {
	known := []string{PrepareDocument, BooleanTrue, BooleanFalse}
	for _, item := range s.nonEmptyList() {
		name := item.word()
		switch {
		case name == "":
		case name == PrerequisiteFailed:
			item.fault("%s ends the task as failed, so a task that requires it can never succeed", quote(name))
		case !slices.Contains(known, name):
			item.fault("%s is not a job tool; use %s", quote(name), enumerate(known, "and"))
		case slices.Contains(names, name):
			item.fault("%s is listed twice", quote(name))
		}
		names = append(names, name)
	}
	return names
}

// prompt reads lines that must not be empty.
func (l *loader) prompt(s located) []string {
	lines := l.lines(s)
	isText := func(line string) bool { return strings.TrimSpace(line) != "" }
	if s.shape == list && len(lines) == len(s.parts) && !slices.ContainsFunc(lines, isText) {
		s.fault("must not be empty")
	}
	if size := l.size(lines); size > maxExpanded {
		s.fault("is longer than %d bytes after expanding its variables", maxExpanded)
	}
	return lines
}

// lines reads lines and checks that their variables exist.
func (l *loader) lines(s located) (lines []string) {
	for _, item := range s.items() {
		if !item.hasKind(text) {
			continue
		}
		lines = append(lines, item.text)
		for name := range names(item.text) {
			if !has(l.book.Variables, name) && !atRunTime(name) {
				item.fault("%s is not a variable", quote("$"+name))
			}
		}
	}
	return lines
}

// defaultRetries results in five attempts on the driving model, as many as task sessions have.
const defaultRetries = 4

func (l *loader) models(s located) {
	l.book.Models.ByCategory = map[string]string{}
	for _, p := range s.entries() {
		at := s.key(p)
		if p.key == "" {
			at.faultAt(p.line, "is not a category")
		}
		l.book.Models.ByCategory[p.key] = "" // defined, whatever else is wrong with it
		if at.hasKind(text) {
			l.book.Models.ByCategory[p.key] = at.text
		}
	}
	if s.shape == object && !has(l.book.Models.ByCategory, Driving) {
		located{s.value, join(s.path, Driving), s.faults}.fault(`is missing ("" is the portal's default model)`)
	}
}

// maxRetries limits the retries on one model. A repository must not make a task try for ever.
const maxRetries = 100

func (l *loader) retries(s located) {
	for i, item := range s.nonEmptyList() {
		f, ok := item.fields("modelId", "retries")
		if !ok {
			continue
		}
		var r Retry
		f.must("modelId", func(s located) {
			if !s.hasKind(text) {
				return
			}
			r.ModelID = s.text
			if driving, ok := l.book.Models.ByCategory[Driving]; ok && i == 0 && r.ModelID != driving {
				s.fault("%s is not the driving model %s, which must be the first", quote(r.ModelID), quote(driving))
			}
		})
		f.must("retries", func(s located) {
			if r.Retries = s.integer(0); r.Retries > maxRetries {
				s.fault("must be at most %d", maxRetries)
			}
		})
		l.book.Models.Retries = append(l.book.Models.Retries, r)
	}
}

// model reads a reference to a model.
func (l *loader) model(s located) (ref ModelRef) {
	f, ok := s.fields("category", "id")
	if !ok {
		return ref
	}
	byCategory := f.may("category", func(s located) {
		if ref.Category = s.word(); ref.Category != "" && !has(l.book.Models.ByCategory, ref.Category) {
			s.fault("%s is not a category of models", quote(ref.Category))
		}
	})
	if byID := f.may("id", func(s located) { ref.ID = s.word() }); byID == byCategory {
		s.fault("must have either a category or an id")
	}
	return ref
}

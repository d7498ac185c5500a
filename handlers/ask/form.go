package ask

import (
	"cmp"
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/form"
)

// decline is the input that declines a whole form.
const decline = "/decline"

// formInput is a form that is being filled in, field by field.
type formInput struct {
	fields []event.Field // remaining fields; the first is being asked for
	values map[string]any
}

func newFormInput(f *event.Form) *formInput {
	fill := &formInput{values: map[string]any{}}
	if f != nil {
		fill.fields = slices.Clone(f.Fields)
	}
	return fill
}

// read reads the value of the first field. The user sees an error and is
// asked again.
func (f *formInput) read(text string) error {
	field := f.fields[0]
	value, err := form.Read(field, text)
	if err != nil {
		return err
	}
	if value != nil {
		f.values[field.Name] = value
	}
	f.fields = f.fields[1:]
	return nil
}

// show prints the prompt for the first field.
func (f *formInput) show(printf func(string, ...any)) {
	field := f.fields[0]
	printf("%s (%s)%s\n", label(field), kind(field), detail(field))
	for i, c := range field.Choices {
		printf("  %d  %s\n", i+1, oneLine(cmp.Or(c.Title, c.Value)))
	}
	if field.Default != nil {
		printf("[%s] ", oneLine(form.Shown(field.Default)))
	}
	printf("> ")
}

func label(f event.Field) string { return oneLine(cmp.Or(f.Title, f.Name)) }

func detail(f event.Field) string {
	if f.Detail == "" {
		return ""
	}
	return ": " + oneLine(f.Detail)
}

// kind describes the expected input.
func kind(f event.Field) string {
	what := "text"
	switch {
	case f.Type == event.FieldBoolean:
		what = "yes or no"
	case f.Type == event.FieldInteger:
		what = "whole number"
	case f.Type == event.FieldNumber:
		what = "number"
	case f.Type == event.FieldList:
		what = "list, separated by commas"
	case f.Format != "":
		what = oneLine(f.Format)
	}
	if !f.Required {
		return what + ", optional"
	}
	return what
}

package ask

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot"
)

// decline is what is typed instead of a value to refuse a whole form.
const decline = "/decline"

// filling is a form on its way, field by field.
type filling struct {
	fields []copilot.Field // those that are left; the first is asked for
	values map[string]any
}

func newFilling(f *copilot.Form) *filling {
	fill := &filling{values: map[string]any{}}
	if f != nil {
		fill.fields = slices.Clone(f.Fields)
	}
	return fill
}

// take reads the value of the first field; an error is for the person, who is
// asked again then.
func (f *filling) take(text string) error {
	field := f.fields[0]
	value, err := fieldValue(field, text)
	if err != nil {
		return err
	}
	if value != nil {
		f.values[field.Name] = value
	}
	f.fields = f.fields[1:]
	return nil
}

// fieldValue reads what was typed for a field; nil leaves it out.
func fieldValue(f copilot.Field, text string) (any, error) {
	if text == "" {
		if f.Default == nil && f.Required {
			return nil, copilot.Errorf(copilot.Invalid, "a value is needed")
		}
		return f.Default, nil
	}
	value, err := parse(f, text)
	if err != nil {
		return nil, err
	}
	return value, f.Check(value)
}

// parse reads a value by the type of its field.
func parse(f copilot.Field, text string) (any, error) {
	switch f.Type {
	case copilot.FieldBoolean:
		return parseBool(text)
	case copilot.FieldNumber, copilot.FieldInteger:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, copilot.Errorf(copilot.Invalid, "%q is no number", text)
		}
		return n, nil
	case copilot.FieldList:
		parts := strings.Split(text, ",")
		for i, part := range parts {
			parts[i] = chosen(f.Choices, strings.TrimSpace(part))
		}
		return parts, nil
	case copilot.FieldText:
	}
	return chosen(f.Choices, text), nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return true, nil
	case "n", "no", "false":
		return false, nil
	}
	return false, copilot.Errorf(copilot.Invalid, "use yes or no")
}

// chosen is the value of a choice that was given by its value, title or number.
func chosen(choices []copilot.Choice, text string) string {
	for _, c := range choices {
		if c.Value == text {
			return text
		}
	}
	for i, c := range choices {
		if strings.EqualFold(c.Title, text) || strconv.Itoa(i+1) == text {
			return c.Value
		}
	}
	return text
}

// show asks for the first field.
func (f *filling) show(printf func(string, ...any)) {
	field := f.fields[0]
	printf("%s (%s)%s\n", label(field), kind(field), detail(field))
	for i, c := range field.Choices {
		printf("  %d  %s\n", i+1, oneLine(clean(cmp.Or(c.Title, c.Value))))
	}
	if field.Default != nil {
		printf("[%s] ", oneLine(clean(shown(field.Default))))
	}
	printf("> ")
}

func label(f copilot.Field) string { return oneLine(clean(cmp.Or(f.Title, f.Name))) }

func detail(f copilot.Field) string {
	if f.Detail == "" {
		return ""
	}
	return ": " + oneLine(clean(f.Detail))
}

// kind says what is to be typed.
func kind(f copilot.Field) string {
	what := "text"
	switch {
	case f.Type == copilot.FieldBoolean:
		what = "yes or no"
	case f.Type == copilot.FieldInteger:
		what = "whole number"
	case f.Type == copilot.FieldNumber:
		what = "number"
	case f.Type == copilot.FieldList:
		what = "list, with commas between"
	case f.Format != "":
		what = oneLine(clean(f.Format))
	}
	if !f.Required {
		return what + ", optional"
	}
	return what
}

// shown is a value as it would be typed.
func shown(value any) string {
	switch v := value.(type) {
	case bool:
		if v {
			return "yes"
		}
		return "no"
	case []string:
		return strings.Join(v, ", ")
	}
	return fmt.Sprint(value)
}

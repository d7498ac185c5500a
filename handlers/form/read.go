package form

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Read reads what a person typed for a field: "" takes its default, and a choice
// may be given by its value, its title or its number; nil leaves the field out.
// Errors, of the kind [fault.Invalid], are for the person.
func Read(f event.Field, text string) (any, error) {
	if text == "" {
		if f.Default == nil && f.Required {
			return nil, fault.Errorf(fault.Invalid, "a value is needed")
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
func parse(f event.Field, text string) (any, error) {
	switch f.Type {
	case event.FieldBoolean:
		return ReadBool(text)
	case event.FieldNumber, event.FieldInteger:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, fault.Errorf(fault.Invalid, "%q is no number", text)
		}
		return n, nil
	case event.FieldList:
		parts := strings.Split(text, ",")
		for i, part := range parts {
			parts[i] = chosen(f.Choices, strings.TrimSpace(part))
		}
		return parts, nil
	case event.FieldText:
	}
	return chosen(f.Choices, text), nil
}

// ReadBool reads yes or no.
func ReadBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return true, nil
	case "n", "no", "false":
		return false, nil
	}
	return false, fault.Errorf(fault.Invalid, "use yes or no")
}

// chosen is the value of a choice that was given by its value, title or number.
func chosen(choices []event.Choice, text string) string {
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

// Shown is a value as it would be typed for [Read]; "" for none.
func Shown(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
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

package form

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// Read parses what a user typed for a field. "" means the default; a choice can be
// given by its value, title or number. A nil result omits the field. Errors are of
// kind [fault.Invalid] and meant for the user.
func Read(f event.Field, text string) (any, error) {
	if text == "" {
		if f.Default == nil && f.Required {
			return nil, fault.Errorf(fault.Invalid, "a value is required")
		}
		return f.Default, nil
	}
	value, err := parse(f, text)
	if err != nil {
		return nil, err
	}
	return value, f.Check(value)
}

// parse parses a value according to the type of its field.
func parse(f event.Field, text string) (any, error) {
	switch f.Type {
	case event.FieldBoolean:
		return ReadBool(text)
	case event.FieldNumber, event.FieldInteger:
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
			return nil, fault.Errorf(fault.Invalid, "%q is not a number", text)
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

// ReadBool parses yes or no.
func ReadBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "y", "yes", "true":
		return true, nil
	case "n", "no", "false":
		return false, nil
	}
	return false, fault.Errorf(fault.Invalid, "use yes or no")
}

// chosen returns the value of the choice with the given value, title or number, or the
// text itself.
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

// Shown formats a value as it would be typed for [Read]; "" for none.
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

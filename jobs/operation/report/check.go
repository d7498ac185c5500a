package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"
)

// A checker validates the arguments of a call and collects all faults. Values that it returns for invalid
// arguments must not be used.
type checker struct{ faults []string }

func (c *checker) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

// decode decodes exactly one JSON value.
func decode(args json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("there is text after the object")
	}
	return v, nil
}

// object checks an object that must have all fields and may have the optional ones.
func (c *checker) object(path string, v any, fields []string, optional ...string) map[string]any {
	o, ok := v.(map[string]any)
	if !ok {
		c.fault("%s must be an object, not %s", orWhole(path), kind(v))
		return nil
	}
	for _, name := range fields {
		if _, ok := o[name]; !ok {
			c.fault("%s is missing", join(path, name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(fields, name) && !slices.Contains(optional, name) {
			c.fault("%s is unknown: the fields are %s", join(path, shorten(name)), strings.Join(slices.Concat(fields, optional), ", "))
		}
	}
	return o
}

// list checks an array and calls each for its elements.
func (c *checker) list(path string, o map[string]any, name string, maximum int, each func(path string, v any)) {
	v, given := o[name]
	if !given {
		return // already reported
	}
	path = join(path, name)
	values, ok := v.([]any)
	switch {
	case !ok:
		c.fault("%s must be an array, not %s", path, kind(v))
	case len(values) > maximum:
		c.fault("%s has %d elements; at most %d are allowed, so keep the most important ones", path, len(values), maximum)
	default:
		for i, v := range values {
			each(fmt.Sprintf("%s[%d]", path, i), v)
		}
	}
}

// text checks a string that must not be empty.
func (c *checker) text(path string, o map[string]any, name string, maximum int) string {
	s := c.optionalText(path, o, name, maximum)
	if v, given := o[name].(string); given && strings.TrimSpace(v) == "" {
		c.fault("%s is empty", join(path, name))
	}
	return s
}

// optionalText checks a string that may be empty.
func (c *checker) optionalText(path string, o map[string]any, name string, maximum int) string {
	v, given := o[name]
	if !given {
		return ""
	}
	return c.string(join(path, name), v, maximum)
}

func (c *checker) string(path string, v any, maximum int) string {
	s, ok := v.(string)
	switch {
	case !ok:
		c.fault("%s must be a text, not %s", path, kind(v))
	case utf8.RuneCountInString(s) > maximum:
		c.fault("%s has %d characters; at most %d are allowed", path, utf8.RuneCountInString(s), maximum)
	}
	return strings.TrimSpace(s)
}

// integer checks an integer within bounds.
func (c *checker) integer(path string, o map[string]any, name string, minimum, maximum int) int {
	v, given := o[name]
	if !given {
		return 0
	}
	n, ok := v.(json.Number)
	if !ok {
		c.fault("%s must be a number, not %s", join(path, name), kind(v))
		return 0
	}
	f, err := n.Float64()
	if err != nil || f != math.Trunc(f) || f < float64(minimum) || f > float64(maximum) {
		c.fault("%s is %s; it must be a whole number from %d to %d", join(path, name), shorten(n.String()), minimum, maximum)
		return 0
	}
	return int(f)
}

// oneOf checks a string that must be one of words.
func (c *checker) oneOf(path string, o map[string]any, name string, words ...string) string {
	v, given := o[name]
	if !given {
		return ""
	}
	s, ok := v.(string)
	if !ok || !slices.Contains(words, s) {
		c.fault("%s must be one of %s", join(path, name), strings.Join(words, ", "))
	}
	return s
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func orWhole(path string) string {
	if path == "" {
		return "the argument"
	}
	return path
}

// shorten shortens a text of the model for use in an error.
func shorten(s string) string {
	const limit = 60
	if r := []rune(s); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return s
}

// kind names the type of a JSON value.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "true or false"
	case json.Number:
		return "a number"
	case string:
		return "a text"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

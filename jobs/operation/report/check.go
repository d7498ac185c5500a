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
func (c *checker) list(path string, o map[string]any, name string, most int, each func(path string, v any)) {
	v, given := o[name]
	if !given {
		return // already reported
	}
	path = join(path, name)
	values, ok := v.([]any)
	switch {
	case !ok:
		c.fault("%s must be an array, not %s", path, kind(v))
	case len(values) > most:
		c.fault("%s has %d elements; at most %d are allowed, so keep the most important ones", path, len(values), most)
	default:
		for i, v := range values {
			each(fmt.Sprintf("%s[%d]", path, i), v)
		}
	}
}

// text checks a string that must not be empty.
func (c *checker) text(path string, o map[string]any, name string, most int) string {
	s := c.perhaps(path, o, name, most)
	if v, given := o[name].(string); given && strings.TrimSpace(v) == "" {
		c.fault("%s is empty", join(path, name))
	}
	return s
}

// perhaps checks a string that may be empty.
func (c *checker) perhaps(path string, o map[string]any, name string, most int) string {
	v, given := o[name]
	if !given {
		return ""
	}
	return c.string(join(path, name), v, most)
}

func (c *checker) string(path string, v any, most int) string {
	s, ok := v.(string)
	switch {
	case !ok:
		c.fault("%s must be a text, not %s", path, kind(v))
	case utf8.RuneCountInString(s) > most:
		c.fault("%s has %d characters; at most %d are allowed", path, utf8.RuneCountInString(s), most)
	}
	return strings.TrimSpace(s)
}

// whole checks an integer within bounds.
func (c *checker) whole(path string, o map[string]any, name string, least, most int) int {
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
	if err != nil || f != math.Trunc(f) || f < float64(least) || f > float64(most) {
		c.fault("%s is %s; it must be a whole number from %d to %d", join(path, name), shorten(n.String()), least, most)
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

// shorten cuts a text of the model for use in an error.
func shorten(s string) string {
	const enough = 60
	if r := []rune(s); len(r) > enough {
		return string(r[:enough]) + "…"
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

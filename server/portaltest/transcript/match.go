package transcript

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
)

// The special values of patterns.
const (
	anything = "*"   // any value
	absent   = "~"   // the member must be absent
	more     = "..." // any number of items of a list
)

// Match matches a JSON value with a pattern and binds names if it matches. The error says where and why it does
// not match.
func (n Names) Match(pattern, value any) error {
	return n.try(func(n Names) error { return n.match("", pattern, value) })
}

func (n Names) match(at string, pattern, value any) error {
	switch p := pattern.(type) {
	case map[string]any:
		return n.object(at, p, value)
	case []any:
		v, ok := value.([]any)
		if !ok {
			return fmt.Errorf("%s: %s is not a list", at, show(value))
		}
		return n.list(at, p, v)
	case string:
		return n.string(at, p, value)
	}
	return same(at, pattern, value)
}

// object requires the members of the pattern; there may be others.
func (n Names) object(at string, pattern map[string]any, value any) error {
	object, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %s is not an object", at, show(value))
	}
	for _, key := range sorted(pattern) {
		path := at + "." + key
		v, there := object[key]
		switch {
		case pattern[key] == absent && there:
			return fmt.Errorf("%s should be absent but is %s", path, show(v))
		case pattern[key] == absent:
		case !there:
			return fmt.Errorf("%s is missing", path)
		default:
			if err := n.match(path, pattern[key], v); err != nil {
				return err
			}
		}
	}
	return nil
}

// list requires all items in order, except those that "..." matches.
func (n Names) list(at string, pattern, value []any) error {
	switch {
	case len(pattern) == 0 && len(value) == 0:
		return nil
	case len(pattern) == 0:
		return fmt.Errorf("%s: %d unexpected items, the first is %s", at, len(value), show(value[0]))
	case pattern[0] == more:
		var err error
		for i := range len(value) + 1 {
			if err = n.try(func(n Names) error { return n.list(at, pattern[1:], value[i:]) }); err == nil {
				return nil
			}
		}
		return err
	case len(value) == 0:
		return fmt.Errorf("%s: an item is missing: %s", at, show(pattern[0]))
	}
	if err := n.match(at+"[]", pattern[0], value[0]); err != nil {
		return err
	}
	return n.list(at, pattern[1:], value[1:])
}

func (n Names) string(at, pattern string, value any) error {
	if pattern == anything {
		return nil
	}
	if name := whole.FindStringSubmatch(pattern); name != nil {
		bound, known := n[name[1]]
		if known {
			return same(at, bound, value)
		}
		n[name[1]] = value
		return nil
	}
	if len(pattern) > 2 && pattern[0] == '/' && pattern[len(pattern)-1] == '/' {
		return n.regexp(at, pattern[1:len(pattern)-1], value)
	}
	text, err := n.text(pattern, func(s string) string { return s })
	if err != nil {
		return err
	}
	return same(at, text, value)
}

func (n Names) regexp(at, pattern string, value any) error {
	source, err := n.text(pattern, regexp.QuoteMeta)
	if err != nil {
		return err
	}
	exp, err := regexp.Compile(source)
	if err != nil {
		return err
	}
	if text, ok := value.(string); !ok || !exp.MatchString(text) {
		return fmt.Errorf("%s: %s does not match /%s/", at, show(value), source)
	}
	return nil
}

func same(at string, want, got any) error {
	if !reflect.DeepEqual(want, got) {
		return fmt.Errorf("%s: %s is not %s", at, show(got), show(want))
	}
	return nil
}

func show(value any) string {
	b, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprint(value)
	}
	return string(b)
}

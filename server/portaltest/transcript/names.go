package transcript

import (
	"fmt"
	"maps"
	"regexp"
)

// Names maps the names of a script to JSON values.
type Names map[string]any

var (
	whole  = regexp.MustCompile(`^\$([a-z]\w*)$`)
	within = regexp.MustCompile(`\$\{([a-z]\w*)\}`)
)

// fill replaces names by their values: $name is a whole string, ${name} is part of one.
func (n Names) fill(value any) (any, error) {
	var err error
	filled := walk(value, func(s string) any {
		if name := whole.FindStringSubmatch(s); name != nil {
			v, known := n[name[1]]
			if !known {
				err = fmt.Errorf("$%s has no value yet", name[1])
			}
			return v
		}
		text, fault := n.text(s, func(s string) string { return s })
		if fault != nil {
			err = fault
		}
		return text
	})
	return filled, err
}

// text replaces ${name}.
func (n Names) text(s string, quote func(string) string) (string, error) {
	var err error
	filled := within.ReplaceAllStringFunc(s, func(found string) string {
		v, known := n[found[2:len(found)-1]]
		if !known {
			err = fmt.Errorf("%s has no value yet", found)
		}
		return quote(fmt.Sprint(v))
	})
	return filled, err
}

// walk returns a copy of a JSON value in which do replaces each string.
func walk(value any, do func(string) any) any {
	switch v := value.(type) {
	case string:
		return do(v)
	case []any:
		list := make([]any, len(v))
		for i, x := range v {
			list[i] = walk(x, do)
		}
		return list
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, x := range v {
			object[key] = walk(x, do)
		}
		return object
	}
	return value
}

// try calls do with a copy of the names and keeps new names only if do succeeds.
func (n Names) try(do func(Names) error) error {
	mine := maps.Clone(n)
	err := do(mine)
	if err == nil {
		maps.Copy(n, mine)
	}
	return err
}

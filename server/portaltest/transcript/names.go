package transcript

import (
	"fmt"
	"maps"
	"regexp"
)

// Names are what the names of a script stand for: JSON values.
type Names map[string]any

var (
	whole  = regexp.MustCompile(`^\$([a-z]\w*)$`)
	within = regexp.MustCompile(`\$\{([a-z]\w*)\}`)
)

// fill puts what names stand for into a value: $name is all of a string, ${name}
// a part of one.
func (n Names) fill(value any) (any, error) {
	var err error
	filled := walk(value, func(s string) any {
		if name := whole.FindStringSubmatch(s); name != nil {
			v, known := n[name[1]]
			if !known {
				err = fmt.Errorf("$%s stands for nothing yet", name[1])
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
			err = fmt.Errorf("%s stands for nothing yet", found)
		}
		return quote(fmt.Sprint(v))
	})
	return filled, err
}

// walk makes a copy of a JSON value with other strings.
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

// try does something that may bind names, and keeps them only if it succeeds.
func (n Names) try(do func(Names) error) error {
	mine := maps.Clone(n)
	err := do(mine)
	if err == nil {
		maps.Copy(n, mine)
	}
	return err
}

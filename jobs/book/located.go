package book

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// located is a value with its position. All values of a book are read through it, so that every fault has a
// position.
type located struct {
	*value
	path   string
	faults *Faults
}

func (s located) fault(format string, args ...any) { s.faultAt(s.line, format, args...) }

func (s located) faultAt(line int, format string, args ...any) {
	*s.faults = append(*s.faults, Fault{Path: s.path, Line: line, Text: fmt.Sprintf(format, args...)})
}

// hasKind checks that the value has the required kind.
func (s located) hasKind(want valueKind) bool {
	switch s.shape {
	case want:
		return true
	case broken:
		s.fault("%s", s.text)
	case object, list, text, number, flag, null:
		hint := ""
		if want == text && s.shape != list {
			hint = " (put it in quotes)" // YAML reads unquoted text as another type
		}
		s.fault("must be %s, not %s%s", want, s.shape, hint)
	}
	return false
}

func (s located) under(p part, path string) located { return located{p.value, path, s.faults} }

// key returns the position of an entry. The path quotes keys that do not look like names.
func (s located) key(p part) located { return s.under(p, join(s.path, p.key)) }

func join(path, key string) string {
	plain := key != "" && !strings.ContainsFunc(key, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_'
	})
	switch {
	case !plain:
		return path + "[" + quote(key) + "]"
	case path == "":
		return key
	}
	return path + "." + key
}

// entries returns the entries of a map. It reports duplicates and leaves them out.
func (s located) entries() []part {
	if !s.hasKind(object) {
		return nil
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(slices.Clone(s.parts), func(p part) bool {
		if seen[p.key] {
			s.key(p).faultAt(p.line, "is defined twice")
			return true
		}
		seen[p.key] = true
		return false
	})
}

// items returns the items of a list.
func (s located) items() []located {
	if !s.hasKind(list) {
		return nil
	}
	items := make([]located, len(s.parts))
	for i, p := range s.parts {
		items[i] = s.under(p, s.path+"["+strconv.Itoa(i)+"]")
	}
	return items
}

// nonEmptyList returns the items of a list that must not be empty.
func (s located) nonEmptyList() []located {
	if s.shape == list && len(s.parts) == 0 {
		s.fault("must not be empty")
	}
	return s.items()
}

// word returns text that must not be empty.
func (s located) word() string {
	if !s.hasKind(text) {
		return ""
	}
	if strings.TrimSpace(s.text) == "" {
		s.fault("must not be empty")
	}
	return s.text
}

func (s located) integer(minimum int) int {
	if !s.hasKind(number) {
		return minimum
	}
	n, err := strconv.ParseInt(s.text, 0, 32)
	if err != nil || int(n) < minimum {
		s.fault("must be a whole number from %d, not %s", minimum, quote(s.text))
		return minimum
	}
	return int(n)
}

func (s located) boolean() bool {
	if !s.hasKind(flag) {
		return false
	}
	word := strings.ToLower(s.text)
	if word != "true" && word != "false" {
		s.fault("must be true or false, not %s", quote(s.text))
	}
	return word == "true"
}

// quote quotes untrusted text and shortens it.
func quote(s string) string {
	const limit = 60
	if runes := []rune(s); len(runes) > limit {
		s = string(runes[:limit]) + "…"
	}
	return strconv.Quote(s)
}

// fields are the entries of a map with fixed keys.
type fields struct {
	located
	byKey map[string]located
}

// fields reads a map that may only have the known keys.
func (s located) fields(known ...string) (fields, bool) {
	if !s.hasKind(object) {
		return fields{}, false
	}
	f := fields{s, map[string]located{}}
	for _, p := range s.entries() {
		if slices.Contains(known, p.key) {
			f.byKey[p.key] = s.key(p)
			continue
		}
		s.key(p).faultAt(p.line, "is unknown; use %s", enumerate(known, "and"))
	}
	return f, true
}

// must reads a required field.
func (f fields) must(key string, read func(located)) {
	if !f.may(key, read) {
		located{f.value, join(f.path, key), f.faults}.fault("is missing")
	}
}

// may reads an optional field and reports whether it is set.
func (f fields) may(key string, read func(located)) bool {
	s, ok := f.byKey[key]
	if ok {
		read(s)
	}
	return ok
}

func enumerate(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " " + last + " " + words[len(words)-1]
}

// Limits of a file. They stop a malformed or hostile file from exhausting memory: in YAML, a few lines of
// aliases can stand for billions of values.
const (
	maxBytes  = 1 << 20
	maxValues = 200_000
	maxNested = 256
)

// valueKind is the type of a value in the file.
type valueKind string

const (
	object valueKind = "a map"
	list   valueKind = "a list"
	text   valueKind = "text"
	number valueKind = "a number"
	flag   valueKind = "true or false"
	null   valueKind = "nothing"
	broken valueKind = "broken" // the text is the error
)

// value is a value of the file, the same for YAML and JSON.
type value struct {
	shape valueKind
	text  string
	line  int
	parts []part
}

// part is an entry of a map, or of a list, where it has no key.
type part struct {
	key  string
	line int
	*value
}

// limitCounter enforces the limits while a file is read.
type limitCounter struct{ values, nested int }

func (c *limitCounter) enter() error {
	c.values++
	c.nested++
	if c.nested > maxNested {
		return errors.New("is nested too deeply")
	}
	if c.values > maxValues {
		return errors.New("has too many values, or aliases that expand to too many")
	}
	return nil
}

func (c *limitCounter) leave() { c.nested-- }

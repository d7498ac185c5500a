package book

import (
	"slices"
	"strings"
)

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

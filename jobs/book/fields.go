package book

import (
	"slices"
	"strings"
)

// fields are the entries of a map whose keys are fixed.
type fields struct {
	located
	byKey map[string]located
}

// fields reads a map that has these keys and no others.
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
		s.key(p).faultAt(p.line, "is not known here; there is %s", enumerate(known, "and"))
	}
	return f, true
}

// must reads a field that has to be there.
func (f fields) must(key string, read func(located)) {
	if !f.may(key, read) {
		located{f.value, join(f.path, key), f.faults}.fault("is missing")
	}
}

// may reads a field that need not be there, and tells whether it is.
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

package book

import (
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
		s.fault("must be %s, not %s%s", want, s.shape, s.quoteHint(want))
	}
	return false
}

// quoteHint suggests quotes for text that YAML reads as another type.
func (s located) quoteHint(want valueKind) string {
	if want != text || s.shape == list {
		return ""
	}
	return " (put it in quotes)"
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

func (s located) integer(least int) int {
	if !s.hasKind(number) {
		return least
	}
	n, err := strconv.ParseInt(s.text, 0, 32)
	if err != nil || int(n) < least {
		s.fault("must be a whole number from %d, not %s", least, quote(s.text))
		return least
	}
	return int(n)
}

func (s located) boolean() bool {
	if !s.hasKind(flag) {
		return false
	}
	said := strings.ToLower(s.text)
	if said != "true" && said != "false" {
		s.fault("must be true or false, not %s", quote(s.text))
	}
	return said == "true"
}

// quote quotes untrusted text and shortens it.
func quote(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return strconv.Quote(s)
}

package checkpoint

import (
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"slices"
	"strings"
	"unicode/utf8"
)

// JSON replaces bytes that are not UTF-8, so paths with such bytes are stored in hexadecimal digits after a zero byte, which
// no path contains.

func encodePath(p string) string {
	if utf8.ValidString(p) {
		return p
	}
	return "\x00" + hex.EncodeToString([]byte(p))
}

func decodePath(p string) string {
	if digits, ok := strings.CutPrefix(p, "\x00"); ok {
		if raw, err := hex.DecodeString(digits); err == nil {
			return string(raw)
		}
	}
	return p
}

// MarshalJSON encodes a note.
func (n note) MarshalJSON() ([]byte, error) {
	type plain note
	return json.Marshal(plain(n.withPaths(encodePath)))
}

// UnmarshalJSON decodes a note.
func (n *note) UnmarshalJSON(data []byte) error {
	type plain note
	err := json.Unmarshal(data, (*plain)(n))
	*n = n.withPaths(decodePath)
	return err
}

func (n note) withPaths(change func(string) string) note {
	n.Uncovered = slices.Clone(n.Uncovered)
	for i := range n.Uncovered {
		n.Uncovered[i].Path = change(n.Uncovered[i].Path)
	}
	n.Perms = permsWithPaths(n.Perms, change)
	if n.Action != nil {
		action := n.Action.withPaths(change)
		n.Action = &action
	}
	return n
}

func permsWithPaths(perms map[string]fs.FileMode, change func(string) string) map[string]fs.FileMode {
	changed := make(map[string]fs.FileMode, len(perms))
	for p, perm := range perms {
		changed[change(p)] = perm
	}
	return changed
}

func (r Restored) withPaths(change func(string) string) Restored {
	r.Files, r.Left = slices.Clone(r.Files), slices.Clone(r.Left)
	for i := range r.Files {
		r.Files[i].Path = change(r.Files[i].Path)
	}
	for i := range r.Left {
		r.Left[i] = change(r.Left[i])
	}
	return r
}

// MarshalJSON encodes a plan.
func (p plan) MarshalJSON() ([]byte, error) {
	type plain plan
	return json.Marshal(plain(p.withPaths(encodePath)))
}

// UnmarshalJSON decodes a plan.
func (p *plan) UnmarshalJSON(data []byte) error {
	type plain plan
	err := json.Unmarshal(data, (*plain)(p))
	*p = p.withPaths(decodePath)
	return err
}

func (p plan) withPaths(change func(string) string) plan {
	p.Restored, p.Steps = p.Restored.withPaths(change), slices.Clone(p.Steps)
	for i := range p.Steps {
		p.Steps[i].Path = change(p.Steps[i].Path)
	}
	return p
}

package form

import (
	"github.com/copilot-portal/portal/copilot/permission"
)

// Scope is the JSON of a [permission.Scope], which a question offers. An answer names
// its kind.
type Scope struct {
	Kind  permission.ScopeKind `json:"kind"`
	Rules []string             `json:"rules"`
	Label string               `json:"label"`
}

// Scopes encodes the scopes of a question, narrowest first.
func Scopes(offered []permission.Scope) []Scope {
	list := make([]Scope, 0, len(offered))
	for _, s := range offered {
		list = append(list, Scope(s))
	}
	return list
}

package form

import (
	"github.com/copilot-portal/portal/copilot/permission"
)

// Scope is how far an answer reaches that is remembered, as it is offered on the wire.
// An answer names the kind.
type Scope struct {
	Kind  permission.ScopeKind `json:"kind"`
	Rules []string             `json:"rules"`
	Label string               `json:"label"`
}

// Scopes are those of a question, narrowest first.
func Scopes(offered []permission.Scope) []Scope {
	list := make([]Scope, 0, len(offered))
	for _, s := range offered {
		list = append(list, Scope(s))
	}
	return list
}

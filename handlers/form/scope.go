package form

import (
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/wire"
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
	return wire.List(offered, func(s permission.Scope) Scope { return Scope(s) })
}

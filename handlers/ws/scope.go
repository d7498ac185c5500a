package ws

import (
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Scopes of a session id.
const (
	scopeRead  = "operations:read"  // read operations
	scopeWrite = "operations:write" // start and cancel operations, answer their questions
)

func scopes() []string { return []string{scopeRead, scopeWrite} }

// checkScopes rejects unknown scopes.
func checkScopes(asked []string) error {
	for _, scope := range asked {
		if !slices.Contains(scopes(), scope) {
			return fault.Errorf(fault.Invalid, "scopes: %s is not a scope; there is %s", quote(scope), strings.Join(scopes(), " and "))
		}
	}
	return nil
}

// granted returns the scopes for a session id: those requested, or all if none was.
func granted(asked []string) []string {
	if len(asked) == 0 {
		return scopes()
	}
	return slices.DeleteFunc(scopes(), func(scope string) bool { return !slices.Contains(asked, scope) })
}

// needs rejects a visitor that lacks a scope. Error: kind [fault.Denied].
func (v visitor) needs(scope string) error {
	if slices.Contains(v.scopes, scope) {
		return nil
	}
	return fault.Errorf(fault.Denied, "this needs the scope %s, which the session id lacks: request another one with POST /auth/verify", scope)
}

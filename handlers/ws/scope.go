package ws

import (
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// The scopes that a session id may be good for.
const (
	scopeRead  = "operations:read"  // look at operations
	scopeWrite = "operations:write" // start and cancel them, answer their questions
)

func scopes() []string { return []string{scopeRead, scopeWrite} }

// checkScopes refuses scopes that do not exist.
func checkScopes(asked []string) error {
	for _, scope := range asked {
		if !slices.Contains(scopes(), scope) {
			return fault.Errorf(fault.Invalid, "scopes: %s is not a scope; there is %s", quote(scope), strings.Join(scopes(), " and "))
		}
	}
	return nil
}

// granted are the scopes that a client gets: those that it asked for, all if it asked for none.
func granted(asked []string) []string {
	if len(asked) == 0 {
		return scopes()
	}
	return slices.DeleteFunc(scopes(), func(scope string) bool { return !slices.Contains(asked, scope) })
}

// needs refuses a visitor who lacks a scope. Error: kind [fault.Denied].
func (v visitor) needs(scope string) error {
	if slices.Contains(v.scopes, scope) {
		return nil
	}
	return fault.Errorf(fault.Denied, "this needs the scope %s, which the session id lacks: get another one at POST /auth/verify", scope)
}

package process

import "strings"

// ownerVariable names in the environment of a program, and of all that it starts,
// the portal that it belongs to. With it another portal finds what was left of
// one that is gone.
const ownerVariable = "COPILOT_PORTAL_OWNER"

// EndOrphans ends what killed portals left running, where it can be known, and
// names it. What carries the mark of env, an environment, is left alone: it is of
// the same agent as the caller.
func EndOrphans(env []string) []string { return endOrphans(value(env, markVariable)) }

// value finds a variable in an environment; the last of a name counts.
func value(env []string, name string) string {
	found := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			found = v
		}
	}
	return found
}

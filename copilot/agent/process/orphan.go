package process

import "strings"

// ownerVariable is the environment variable that identifies the portal of a program and all its children.
// With it, another portal finds what a dead portal left behind.
const ownerVariable = "COPILOT_PORTAL_OWNER"

// EndOrphans ends the processes that killed portals left running, where they can be found, and returns their
// names. It spares processes with the mark in env, because they belong to the caller's own agent.
func EndOrphans(env []string) []string { return endOrphans(value(env, markVariable)) }

// value returns a variable of an environment; the last one counts.
func value(env []string, name string) string {
	found := ""
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			found = v
		}
	}
	return found
}

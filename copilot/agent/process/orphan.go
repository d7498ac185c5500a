package process

import "strings"

// ownerVariable is the environment variable that identifies the portal of a program and all its children.
// With it, another portal finds what a dead portal left behind.
const ownerVariable = "COPILOT_PORTAL_OWNER"

// EndOrphans ends the processes that killed portals left running, where they can be found, and returns their
// names. It spares processes with the mark in env, because they belong to the caller's own agent.
func EndOrphans(env []string) []string {
	mark, _ := Variable(env, markVariable)
	return endOrphans(mark)
}

// Variable returns the effective value of a variable of an environment, which is the last one.
func Variable(env []string, name string) (value string, ok bool) {
	for _, v := range env {
		if after, found := strings.CutPrefix(v, name+"="); found {
			value, ok = after, true
		}
	}
	return value, ok
}

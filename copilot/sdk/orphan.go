package sdk

import "strings"

// ownerVariable names in the environment of a CLI, and of all that it starts,
// the portal that it belongs to. With it another portal finds what was left of
// one that is gone.
const ownerVariable = "COPILOT_PORTAL_OWNER"

// endOrphans ends once what killed portals left running, where it can be known.
func (d *Driver) endOrphans() {
	d.orphans.Do(func() {
		for _, process := range endOrphans(value(d.options.Env, markVariable)) {
			d.options.Log.Warn("ended what a portal that was killed had left running", "process", process)
		}
	})
}

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

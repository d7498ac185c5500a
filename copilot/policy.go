package copilot

import (
	"path/filepath"
	"strings"
)

// Policy says what the agent may do: names of permissions to decisions. A name
// is dotted, and a rule for its beginning covers it: "git" covers "git.push",
// "*" covers everything. Names are compared without regard to case. A policy
// guards an honest agent; it is no sandbox.
type Policy map[string]Decision

// Decision on a permission.
type Decision string

// The decisions, from mild to strict.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// The names of permissions that the portal itself gives. A tool of an MCP
// server is mcp.<server>.<tool>; a tool of a client goes by its own name.
const (
	PermRead      = "fs.read"
	PermWrite     = "fs.write"
	PermExec      = "exec.run"
	PermCommit    = "git.commit"
	PermPush      = "git.push"
	PermForcePush = "git.forcePush"
	PermFetch     = "net.fetch"
	permAll       = "*"
)

// ParseDecision reads a decision as people write it.
func ParseDecision(s string) (Decision, error) {
	switch d := Decision(strings.ToLower(strings.TrimSpace(s))); d {
	case Allow, Ask, Deny:
		return d, nil
	}
	return "", Errorf(Invalid, "%q is no permission: use allow, ask or deny", s)
}

// Everywhere is the policy that decides everything alike.
func Everywhere(d Decision) Policy { return Policy{permAll: d} }

// decide finds the decision on a question of a session in directory dir: of each of its names the most
// specific rule counts, at the same name the first policy that has one; of
// several names the strictest decision. Without any rule reading inside the
// working directory is allowed and all else asked; "*: ask" means the same.
func decide(q Question, dir string, policies ...Policy) Decision {
	worst, inside := Allow, within(dir, q.Path)
	for _, name := range q.Names {
		worst = stricter(worst, decideName(name, inside, policies))
	}
	if worst == Allow && q.Opaque && deniesGit(policies) {
		return Ask
	}
	return worst
}

func decideName(name string, inside bool, policies []Policy) Decision {
	for rule := strings.ToLower(name); rule != ""; rule = parent(rule) {
		for _, p := range policies {
			d, ok := p.lookup(rule)
			if ok && (rule != permAll || d != Ask) {
				return d
			}
			if ok {
				return builtin(name, inside)
			}
		}
	}
	return builtin(name, inside)
}

func builtin(name string, inside bool) Decision {
	if name == PermRead && inside {
		return Allow
	}
	return Ask
}

// within says whether a path lies in a directory; both have their links followed.
func within(dir, path string) bool {
	if path == "" {
		return false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// deniesGit says whether any rule denies a git permission, so that a command
// nobody can look into must not slip past it.
func deniesGit(policies []Policy) bool {
	for _, p := range policies {
		for name, d := range p {
			if d == Deny && strings.HasPrefix(strings.ToLower(name), "git") {
				return true
			}
		}
	}
	return false
}

// parent is the next less specific rule, "" after "*".
func parent(rule string) string {
	if rule == permAll {
		return ""
	}
	if i := strings.LastIndexByte(rule, '.'); i > 0 {
		return rule[:i]
	}
	return permAll
}

// lookup is a scan because configured keys may be of any case; policies are small.
func (p Policy) lookup(rule string) (Decision, bool) {
	for name, d := range p {
		if strings.EqualFold(name, rule) {
			return d, true
		}
	}
	return "", false
}

func stricter(a, b Decision) Decision {
	rank := func(d Decision) int {
		switch d {
		case Allow:
			return 0
		case Ask:
			return 1
		case Deny:
		}
		return 2
	}
	if rank(b) > rank(a) {
		return b
	}
	return a
}

package copilot

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Policy says what the agent may do: names of permissions to decisions. A name
// is dotted, and a rule for its beginning covers it: "git" covers "git.push",
// "*" covers everything. Names are compared without regard to case. A force push
// without a rule of its own is decided as a push is, or stricter. A policy
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

// ParsePolicy reads rules as people write them. Errors, of the kind [Invalid], name
// the rule: one whose decision is none, or that can never decide anything.
func ParsePolicy(rules map[string]string) (Policy, error) {
	policy := Policy{}
	for name, text := range rules {
		d, err := ParseDecision(text)
		switch {
		case err != nil:
			return nil, Errorf(Invalid, "permissions.%s: %w", name, err)
		case !CanApply(name):
			return nil, Errorf(Invalid, "permissions.%s: there is no such permission", name)
		}
		policy[name] = d
	}
	return policy, nil
}

// CanApply says whether a rule of this name can ever decide something: below
// fs, git, exec and net only the names above do.
func CanApply(rule string) bool {
	rule = strings.ToLower(rule)
	own := false
	for _, name := range []string{PermRead, PermWrite, PermExec, PermCommit, PermPush, PermForcePush, PermFetch} {
		name = strings.ToLower(name)
		if rule == name || strings.HasPrefix(name, rule+".") {
			return true
		}
		family, _, _ := strings.Cut(name, ".")
		own = own || strings.HasPrefix(rule, family+".")
	}
	return !own
}

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

// decide finds the decision on a question of a session in directory dir: of each
// of its needs the most specific rule counts, at the same name the first policy
// that has one; of several needs the strictest decision. Without any rule
// reading inside the working directory is allowed and all else asked; "*: ask"
// means the same.
func decide(q Question, dir string, policies ...Policy) Decision {
	worst := Allow
	for _, n := range q.needs() {
		worst = stricter(worst, decideNeed(n, dir, policies))
	}
	return worst
}

// decideNeed is decide for one of the needs.
func decideNeed(n Need, dir string, policies []Policy) Decision {
	d := decideName(n.Name, n.Name == PermRead && within(dir, n.Target), policies)
	if d == Allow && n.Opaque && deniesMore(policies) {
		return Ask
	}
	return d
}

func decideName(name string, inside bool, policies []Policy) Decision {
	d := decideByRule(name, inside, policies)
	if name == PermForcePush && !hasRule(name, policies) { // it is a push after all
		return stricter(d, decideByRule(PermPush, inside, policies))
	}
	return d
}

func decideByRule(name string, inside bool, policies []Policy) Decision {
	rule := strings.ToLower(name)
	if rule == "" {
		rule = permAll
	}
	for ; rule != ""; rule = parent(rule) {
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

func hasRule(name string, policies []Policy) bool {
	return slices.ContainsFunc(policies, func(p Policy) bool { _, ok := p.lookup(name); return ok })
}

func builtin(name string, inside bool) Decision {
	if name == PermRead && inside {
		return Allow
	}
	return Ask
}

// within says whether a path lies in a directory; both have their links followed.
// A path in somebody's home ("~/") is none until the driver has resolved it.
func within(dir, path string) bool {
	if path == "" || path[0] == '~' {
		return false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// deniesMore says whether anything is denied that an allowed command could do, so
// that one nobody can look into must not slip past it.
func deniesMore(policies []Policy) bool {
	return slices.ContainsFunc([]string{PermCommit, PermPush, PermForcePush, PermRead, PermWrite, PermFetch}, func(name string) bool {
		return decideName(name, false, policies) == Deny
	})
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

// lookup is a scan because configured keys may be of any case; policies are
// small. Of keys that differ by case only the strictest counts.
func (p Policy) lookup(rule string) (d Decision, ok bool) {
	d = Allow
	for name, other := range p {
		if strings.EqualFold(name, rule) {
			d, ok = stricter(d, other), true
		}
	}
	return d, ok
}

// over is a new policy of these rules and the others, of which these replace those
// of the same names.
func (p Policy) over(others Policy) Policy {
	all := Policy{}
	maps.Copy(all, others)
	maps.DeleteFunc(all, func(name string, _ Decision) bool { _, replaced := p.lookup(name); return replaced })
	maps.Copy(all, p)
	return all
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

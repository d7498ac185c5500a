// Package permission decides what an agent may do: names and patterns of rules, the scopes of
// remembered answers, and which permissions a line of a shell needs.
package permission

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Policy says what the agent may do: names of permissions to decisions. A name
// is dotted, and a rule for its beginning covers it: "git" covers "git.push",
// "*" covers everything. Names are compared without regard to case. A force push
// without a rule of its own is decided as a push is, or stricter. A policy
// guards an honest agent; it is no sandbox.
//
// A name that has a subject may have a pattern behind it, which makes the rule more
// specific than one without: exec.run(git status *) is about commands that begin with
// these words, exec.run(git status) about one command, fs.read(/etc/**) about files
// below a directory, net.fetch(example.org) about a host, tool(shop) about one tool.
// See [ParseRule].
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
	Read      = "fs.read"
	Write     = "fs.write"
	Exec      = "exec.run"
	Commit    = "git.commit"
	Push      = "git.push"
	ForcePush = "git.forcePush"
	Fetch     = "net.fetch"
	All       = "*"
)

// ParsePolicy reads rules as people write them. Errors, of the kind [fault.Invalid], name
// the rule: one whose decision is none, that can never decide anything, or whose
// pattern cannot be read.
func ParsePolicy(rules map[string]string) (Policy, error) {
	policy := Policy{}
	for text, decision := range rules {
		key, d, err := ParseRule(text, decision)
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "permissions.%s: %w", text, err)
		}
		policy[key] = d
	}
	return policy, nil
}

// CanApply says whether a rule of this name can ever decide something: below
// fs, git, exec and net only the names above do.
func CanApply(rule string) bool {
	rule = strings.ToLower(rule)
	own := false
	for _, name := range []string{Read, Write, Exec, Commit, Push, ForcePush, Fetch} {
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
	return "", fault.Errorf(fault.Invalid, "%q is no permission: use allow, ask or deny", s)
}

// Everywhere is the policy that decides everything alike.
func Everywhere(d Decision) Policy { return Policy{All: d} }

// Decide finds the decision on needs in a session of directory dir: of each the most specific rule counts, at the same name the first policy
// that has one; of several needs the strictest decision. Without any rule
// reading inside the working directory is allowed and all else asked; "*: ask"
// means the same.
func Decide(needs []Need, dir string, policies ...Policy) Decision {
	worst := Allow
	for _, n := range needs {
		worst = stricter(worst, decideNeed(n, dir, policies))
	}
	return worst
}

// decideNeed is Decide for one of the needs.
func decideNeed(n Need, dir string, policies []Policy) Decision {
	d := decideNamed(n, dir, policies)
	if n.Name == ForcePush && !hasRule(n, policies) { // it is a push after all
		push := n
		push.Name = Push
		return stricter(d, decideNamed(push, dir, policies))
	}
	return d
}

// decideNamed looks for rules with patterns first. Where one of the commands may be
// denied that an opaque one can run, only a rule for this very command allows that.
func decideNamed(n Need, dir string, policies []Policy) Decision {
	f := decideByPattern(n, policies)
	if !f.found {
		f.decision = decideByRule(n.Name, n.Name == Read && within(dir, n.Target), policies)
	}
	if f.decision == Allow && n.Opaque && !f.isFor(n) && deniesMore(policies) {
		return Ask
	}
	return f.decision
}

func decideByRule(name string, inside bool, policies []Policy) Decision {
	rule := strings.ToLower(name)
	if rule == "" {
		rule = All
	}
	for ; rule != ""; rule = parent(rule) {
		for _, p := range policies {
			d, ok := p.lookup(rule)
			if ok && (rule != All || d != Ask) {
				return d
			}
			if ok {
				return builtin(name, inside)
			}
		}
	}
	return builtin(name, inside)
}

func hasRule(n Need, policies []Policy) bool {
	return decideByPattern(n, policies).found ||
		slices.ContainsFunc(policies, func(p Policy) bool { _, ok := p.lookup(n.Name); return ok })
}

func builtin(name string, inside bool) Decision {
	if name == Read && inside {
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
	for _, p := range policies {
		for key, d := range p {
			r := readRule(key)
			if _, ofTool := r.pattern.(toolPattern); d == Deny && r.pattern != nil && !ofTool {
				return true
			}
		}
	}
	return slices.ContainsFunc([]string{Commit, Push, ForcePush, Read, Write, Fetch}, func(name string) bool {
		return decideByRule(name, false, policies) == Deny
	})
}

// parent is the next less specific rule, "" after "*".
func parent(rule string) string {
	if rule == All {
		return ""
	}
	if i := strings.LastIndexByte(rule, '.'); i > 0 {
		return rule[:i]
	}
	return All
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

// Over is a new policy of these rules and the others, of which these replace those
// of the same names.
func (p Policy) Over(others Policy) Policy {
	all := Policy{}
	maps.Copy(all, others)
	maps.DeleteFunc(all, func(key string, _ Decision) bool { return p.Has(key) })
	maps.Copy(all, p)
	return all
}

// Has says whether there is this rule.
func (p Policy) Has(key string) bool {
	for other := range p {
		if SameRule(key, other) {
			return true
		}
	}
	return false
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

// Without are the remembered rules that stay when rules are put over old ones: not
// those that are given anew, nor those of a name whose rule becomes another.
func (p Policy) Without(rules, old Policy) Policy {
	left := maps.Clone(p)
	maps.DeleteFunc(left, func(key string, _ Decision) bool {
		d, given := rules.lookup(subject(key))
		before, had := old.lookup(subject(key))
		return rules.Has(key) || given && (!had || d != before)
	})
	return left
}

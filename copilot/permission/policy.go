// Package permission decides what an agent may do. It defines names and patterns of rules, the scopes of
// remembered answers, and the permissions that a shell command line needs.
package permission

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// Policy maps names of permissions to decisions. Names are dotted, and a rule for a prefix covers all names
// below it: "git" covers "git.push", "*" covers everything. Names are case-insensitive. A force push without
// a rule of its own is decided like a push, or more strictly. A policy guards an honest agent; it is no
// sandbox.
//
// A name may be followed by a pattern for its target, which makes the rule more specific: exec.run(git status
// *) covers commands that start with these words, exec.run(git status) exactly one command, fs.read(/etc/**)
// files below a directory, net.fetch(example.org) a host, tool(shop) one tool. See [ParseRule].
type Policy map[string]Decision

// Decision is the decision on a permission.
type Decision string

// The decisions, in increasing strictness.
const (
	Allow Decision = "allow"
	Ask   Decision = "ask"
	Deny  Decision = "deny"
)

// The names of permissions that the portal defines. A tool of an MCP server is mcp.<server>.<tool>; a client
// tool has its own name.
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

// ParsePolicy parses rules as users write them. Errors, of kind [fault.Invalid], name the rule whose decision
// is unknown, that can never apply, or whose pattern is invalid.
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

// CanApply reports whether a rule of this name can ever apply: below fs, git, exec and net only the names
// above exist.
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

// ParseDecision parses a decision as users write it.
func ParseDecision(s string) (Decision, error) {
	switch d := Decision(strings.ToLower(strings.TrimSpace(s))); d {
	case Allow, Ask, Deny:
		return d, nil
	}
	return "", fault.Errorf(fault.Invalid, "%q is not a decision: use allow, ask or deny", s)
}

// Everywhere returns the policy that makes the same decision everywhere.
func Everywhere(d Decision) Policy { return Policy{All: d} }

// Decide returns the decision on needs in a session of directory dir. For each need the most specific rule
// counts, and among equally specific ones that of the first policy; of several needs the strictest decision
// counts. Without a rule, reading inside the working directory is allowed and everything else is asked; "*:
// ask" means the same.
func Decide(needs []Need, dir string, policies ...Policy) Decision {
	worst := Allow
	for _, n := range needs {
		worst = stricter(worst, decideNeed(n, dir, policies))
	}
	return worst
}

// decideNeed decides on one of the needs.
func decideNeed(n Need, dir string, policies []Policy) Decision {
	d := decideNamed(n, dir, policies)
	if n.Name == ForcePush && !hasRule(n, policies) { // a force push is also a push
		push := n
		push.Name = Push
		return stricter(d, decideNamed(push, dir, policies))
	}
	return d
}

// decideNamed looks for rules with patterns first. If [mustAsk] says so, only a rule for exactly this command
// allows it.
func decideNamed(n Need, dir string, policies []Policy) Decision {
	f := decideByPattern(n, n.Name, policies)
	if !f.found {
		f.decision = decideByRule(n.Name, n.Name == Read && within(dir, n.Target), policies)
	}
	if isNamed(n.Name, Commit, Push, ForcePush) {
		f.decision = decideAsCommand(n, f, policies)
	}
	if f.decision == Allow && !f.isFor(n) && mustAsk(n, policies) {
		return Ask
	}
	return f.decision
}

// decideAsCommand makes a decision on a git permission stricter if a pattern for commands is.
func decideAsCommand(n Need, own finding, policies []Policy) Decision {
	if f := decideByPattern(n, Exec, policies); f.found && f.decision != Allow && !own.outranks(f) {
		return stricter(own.decision, f.decision)
	}
	return own.decision
}

// mustAsk reports whether something may be denied that an opaque command can do, or an unknown target or connection
// may be one that a rule restricts.
func mustAsk(n Need, policies []Policy) bool {
	return n.Opaque && deniesMore(policies) || n.isUnknown() && restricts(n.Name, policies) ||
		n.Connects && (decideByRule(Fetch, false, policies) == Deny || restricts(Fetch, policies))
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
	return decideByPattern(n, n.Name, policies).found ||
		slices.ContainsFunc(policies, func(p Policy) bool { _, ok := p.lookup(n.Name); return ok })
}

func builtin(name string, inside bool) Decision {
	if name == Read && inside {
		return Allow
	}
	return Ask
}

// within reports whether a path is in a directory; both must have their links followed. A path in a home
// directory ("~/") is not, until the driver has resolved it.
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

// deniesMore reports whether anything is denied that an allowed command could do, so that an opaque command
// must not bypass it.
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

// restricts reports whether a rule denies, or asks about, some targets of a permission.
func restricts(name string, policies []Policy) bool {
	for _, p := range policies {
		for key, d := range p {
			r := readRuleNamed(key, name)
			if _, ofTool := r.pattern.(toolPattern); d != Allow && r.pattern != nil && !ofTool {
				return true
			}
		}
	}
	return false
}

// parent returns the next less specific rule, or "" after "*".
func parent(rule string) string {
	if rule == All {
		return ""
	}
	if i := strings.LastIndexByte(rule, '.'); i > 0 {
		return rule[:i]
	}
	return All
}

// lookup scans all rules because configured keys may be in any case; policies are small. If keys differ only
// in case, the strictest counts.
func (p Policy) lookup(rule string) (d Decision, ok bool) {
	d = Allow
	for name, other := range p {
		if strings.EqualFold(name, rule) {
			d, ok = stricter(d, other), true
		}
	}
	return d, ok
}

// Over returns a new policy with these rules and those of others that have different names.
func (p Policy) Over(others Policy) Policy {
	all := Policy{}
	maps.Copy(all, others)
	maps.DeleteFunc(all, func(key string, _ Decision) bool { return p.Has(key) })
	maps.Copy(all, p)
	return all
}

// Has reports whether the policy has this rule.
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

// Without returns the remembered rules that remain when rules replace old: not those that rules contain, nor
// those whose name gets another decision.
func (p Policy) Without(rules, old Policy) Policy {
	left := maps.Clone(p)
	maps.DeleteFunc(left, func(key string, _ Decision) bool {
		d, given := rules.lookup(subject(key))
		before, had := old.lookup(subject(key))
		return rules.Has(key) || given && (!had || d != before)
	})
	return left
}

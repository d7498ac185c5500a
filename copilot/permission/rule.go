package permission

import (
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// rule is a parsed key of a policy: the name of a permission, possibly with a pattern in parentheses that the
// target of a request must match, such as exec.run(git status *).
type rule struct {
	name    string
	pattern pattern // nil matches every target
}

// pattern selects among the targets of a permission.
type pattern interface {
	// matches reports whether a rule with this decision covers a request. If a property of the request is
	// unknown, a rule that allows does not cover it.
	matches(n Need, d Decision) bool
	// rank orders the patterns that match the same request: a more specific one has a higher rank.
	rank() int
}

// exactRank is the lowest rank of patterns that match only one target.
const exactRank = 1 << 20

// maxPattern is the maximum length of a pattern, in bytes.
const maxPattern = 4096

// ParseRule parses a rule as users write it, and its decision. It returns the key of the rule in a [Policy],
// with links in the path of a pattern followed. Errors, of kind [fault.Invalid], say what is wrong, but not
// with which rule.
func ParseRule(text, decision string) (key string, d Decision, err error) {
	if d, err = ParseDecision(decision); err != nil {
		return "", "", err
	}
	name, body, has := cutPattern(text)
	switch {
	case !CanApply(name):
		return "", "", fault.Errorf(fault.Invalid, "unknown permission")
	case !has && strings.ContainsAny(text, "()") && takesPattern(name):
		return "", "", fault.Errorf(fault.Invalid, "a pattern must follow the name in parentheses, as in exec.run(git status *)")
	case !has:
		return text, d, nil
	case !takesPattern(name):
		return "", "", fault.Errorf(fault.Invalid, "%s takes no pattern: exec.run, git.commit, git.push and git.forcePush take commands, fs.read and fs.write take paths, net.fetch takes hosts, tool takes the name of a tool", name)
	}
	p, err := parsePattern(name, body)
	if err != nil {
		return "", "", fault.Errorf(fault.Invalid, "%w", err)
	}
	if path, ok := p.(pathPattern); ok {
		body = path.followed().String()
	}
	return name + "(" + body + ")", d, nil
}

// cutPattern splits the text of a rule.
func cutPattern(text string) (name, body string, has bool) {
	name, body, _ = strings.Cut(text, "(")
	if body, has = strings.CutSuffix(body, ")"); !has {
		return strings.TrimRight(name, " "), "", false
	}
	return name, strings.TrimSpace(body), true
}

// readRule parses a key of a policy. A key that is not a rule with a pattern is a name.
func readRule(key string) rule {
	if name, body, has := cutPattern(key); has && takesPattern(name) {
		if p, err := parsePattern(name, body); err == nil {
			return rule{name, p}
		}
	}
	return rule{name: key}
}

func takesPattern(name string) bool {
	return isCommand(name) || isFile(name) || isHost(name) || isNamed(name, ruleTool)
}

func isCommand(name string) bool { return isNamed(name, Exec, Commit, Push, ForcePush) }

func isFile(name string) bool { return isNamed(name, Read, Write) }

func isHost(name string) bool { return isNamed(name, Fetch) }

func isNamed(name string, names ...string) bool {
	return slices.ContainsFunc(names, func(other string) bool { return strings.EqualFold(name, other) })
}

func parsePattern(name, body string) (pattern, error) {
	line, isLine := strings.CutPrefix(body, "=")
	switch {
	case len(body) > maxPattern:
		return nil, fault.Errorf(fault.Invalid, "the pattern is longer than %d bytes", maxPattern)
	case isNamed(name, ruleTool):
		return parseTool(body)
	case isLine && !isNamed(name, Fetch):
		return parseLine(line)
	case isCommand(name):
		return parseCommand(body)
	case isFile(name):
		return parsePath(body)
	}
	return parseHost(body)
}

// linePattern matches all needs of one command line, however the shell interprets it.
type linePattern string

func parseLine(line string) (pattern, error) {
	if line = strings.TrimSpace(line); line == "" {
		return nil, fault.Errorf(fault.Invalid, "the command line is empty")
	}
	return linePattern(line), nil
}

func (p linePattern) matches(n Need, _ Decision) bool { return strings.TrimSpace(n.Line) == string(p) }

func (p linePattern) rank() int { return 2 * exactRank }

// finding is a rule with a pattern that decides on a need.
type finding struct {
	decision Decision
	rank     int
	policy   int // index of its policy
	found    bool
}

// isFor reports whether the rule is for exactly this command; if the effect of the command depends on the rest of
// its line, it must be for the whole line.
func (f finding) isFor(n Need) bool {
	return f.rank >= 2*exactRank || f.rank >= exactRank && n.Prefix != "" && !n.Connects
}

// outranks reports whether the rule decides before another one, as the more specific one or that of an earlier
// policy.
func (f finding) outranks(other finding) bool {
	return f.found && (f.rank > other.rank || f.rank == other.rank && f.policy < other.policy)
}

// decideByPattern finds the most specific rule of this name whose pattern matches a need; among equally
// specific ones that of the first policy, and there the strictest.
func decideByPattern(n Need, name string, policies []Policy) (best finding) {
	for i, p := range policies {
		for key, d := range p {
			r := readRuleNamed(key, name)
			if r.pattern == nil || !r.pattern.matches(n, d) {
				continue
			}
			other := finding{d, r.pattern.rank(), i, true}
			switch {
			case !best.found || other.rank > best.rank:
				best = other
			case other.rank == best.rank && other.policy == best.policy:
				best.decision = stricter(best.decision, d)
			}
		}
	}
	return best
}

// readRuleNamed parses a rule if it has that name or is for a tool, which most are not.
func readRuleNamed(key, name string) rule {
	if own, _, has := strings.Cut(key, "("); has && isNamed(own, name, ruleTool) {
		return readRule(key)
	}
	return rule{}
}

// subject returns the name that a rule is about.
func subject(key string) string {
	if p, ok := readRule(key).pattern.(toolPattern); ok {
		return string(p)
	}
	name, _, _ := strings.Cut(key, "(")
	return name
}

// SameRule reports whether two keys are the same rule: names are case-insensitive.
func SameRule(a, b string) bool {
	first, pattern, _ := strings.Cut(a, "(")
	second, other, _ := strings.Cut(b, "(")
	return strings.EqualFold(first, second) && pattern == other
}

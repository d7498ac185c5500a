package permission

import (
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
)

// rule is the key of a policy, read: the name of a permission, perhaps with a
// pattern in brackets that the subject of a request has to match, as in
// exec.run(git status *).
type rule struct {
	name    string
	pattern pattern // nil: whatever the subject
}

// pattern selects among the subjects of a permission.
type pattern interface {
	// matches says whether a rule with this decision covers a request. What cannot
	// be told of a request is outside of what a rule allows.
	matches(n Need, d Decision) bool
	// rank orders the patterns that match the same request: the more specific one
	// has the higher rank.
	rank() int
}

// exactRank is the least rank of patterns that one subject alone matches.
const exactRank = 1 << 20

// maxPattern is how long a pattern may be, in bytes.
const maxPattern = 4096

// ParseRule reads a rule as people write it, and its decision. The key it returns is
// the rule for a [Policy]: links in the path of a pattern are followed. Errors, of the
// kind [fault.Invalid], say what is wrong, but not with which rule.
func ParseRule(text, decision string) (key string, d Decision, err error) {
	if d, err = ParseDecision(decision); err != nil {
		return "", "", err
	}
	name, body, has := cutPattern(text)
	switch {
	case !CanApply(name):
		return "", "", fault.Errorf(fault.Invalid, "there is no such permission")
	case !has && strings.ContainsAny(text, "()") && takesPattern(name):
		return "", "", fault.Errorf(fault.Invalid, "a pattern stands in brackets behind the name, as in exec.run(git status *)")
	case !has:
		return text, d, nil
	case !takesPattern(name):
		return "", "", fault.Errorf(fault.Invalid, "%s takes no pattern: exec.run, git.commit, git.push and git.forcePush take commands, fs.read and fs.write paths, net.fetch hosts, tool the name of a tool", name)
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

// cutPattern parts the text of a rule.
func cutPattern(text string) (name, body string, has bool) {
	name, body, _ = strings.Cut(text, "(")
	if body, has = strings.CutSuffix(body, ")"); !has {
		return strings.TrimRight(name, " "), "", false
	}
	return name, strings.TrimSpace(body), true
}

// readRule reads the key of a policy. A key that is no rule of its own is a name.
func readRule(key string) rule {
	if name, body, has := cutPattern(key); has && takesPattern(name) {
		if p, err := parsePattern(name, body); err == nil {
			return rule{name, p}
		}
	}
	return rule{name: key}
}

func takesPattern(name string) bool {
	return isCommand(name) || isFile(name) || isNamed(name, Fetch, ruleTool)
}

func isCommand(name string) bool { return isNamed(name, Exec, Commit, Push, ForcePush) }

func isFile(name string) bool { return isNamed(name, Read, Write) }

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

// linePattern matches all that one command line needs, whatever the shell makes of it.
type linePattern string

func parseLine(line string) (pattern, error) {
	if line = strings.TrimSpace(line); line == "" {
		return nil, fault.Errorf(fault.Invalid, "the command line is empty")
	}
	return linePattern(line), nil
}

func (p linePattern) matches(n Need, _ Decision) bool { return strings.TrimSpace(n.Line) == string(p) }

func (p linePattern) rank() int { return 2 * exactRank }

// finding is the rule with a pattern that decides on a need.
type finding struct {
	decision Decision
	rank     int
	policy   int // its place among the policies
	found    bool
}

// isFor says whether the rule is for exactly this command: of one that may run any
// other, for the whole line.
func (f finding) isFor(n Need) bool {
	return f.rank >= 2*exactRank || f.rank >= exactRank && n.Prefix != ""
}

// decideByPattern finds the most specific rule of the need's own name whose pattern
// matches; of those alike in the first policy, there the strictest.
func decideByPattern(n Need, policies []Policy) (best finding) {
	for i, p := range policies {
		for key, d := range p {
			r := readRuleNamed(key, n.Name)
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

// readRuleNamed reads a rule if it is one of that name, or for a tool: most are neither.
func readRuleNamed(key, name string) rule {
	if own, _, has := strings.Cut(key, "("); has && isNamed(own, name, ruleTool) {
		return readRule(key)
	}
	return rule{}
}

// subject is the name that a rule is about.
func subject(key string) string {
	if p, ok := readRule(key).pattern.(toolPattern); ok {
		return string(p)
	}
	name, _, _ := strings.Cut(key, "(")
	return name
}

// SameRule says whether two keys are the same rule: case does not matter in names.
func SameRule(a, b string) bool {
	first, pattern, _ := strings.Cut(a, "(")
	second, other, _ := strings.Cut(b, "(")
	return strings.EqualFold(first, second) && pattern == other
}

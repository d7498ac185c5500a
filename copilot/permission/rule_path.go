package permission

import (
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// pathPattern matches absolute paths by their segments: ** matches any number of segments, * and ? match
// characters within a segment.
type pathPattern []string

const anyDepth = "**"

func parsePath(body string) (pattern, error) {
	if rest, ok := strings.CutPrefix(body, "~/"); ok {
		home, err := os.UserHomeDir()
		if err != nil {
			return nil, fault.Errorf(fault.Invalid, "cannot resolve ~: %w", err)
		}
		body = EscapePath(filepath.ToSlash(home)) + "/" + rest
	}
	rest, ok := strings.CutPrefix(body, "/")
	if !ok {
		return nil, fault.Errorf(fault.Invalid, "%q is not an absolute path: it must start with / or ~/", body)
	}
	p := pathPattern(strings.Split(rest, "/"))
	if slices.ContainsFunc(p, func(s string) bool { return s == "" || s == "." || s == ".." }) {
		return nil, fault.Errorf(fault.Invalid, "%q has empty segments or dots: remove them", body)
	}
	for _, segment := range p {
		if _, err := path.Match(segment, ""); err != nil {
			return nil, fault.Errorf(fault.Invalid, "%q is not valid: escape [ and \\ with \\", segment)
		}
	}
	return p, nil
}

func (p pathPattern) String() string { return "/" + strings.Join(p, "/") }

// fixed returns the number of leading segments without wildcards.
func (p pathPattern) fixed() int {
	i := slices.IndexFunc(p, hasWildcard)
	if i < 0 {
		return len(p)
	}
	return i
}

func hasWildcard(segment string) bool { return EscapePath(unescapePath(segment)) != segment }

func (p pathPattern) rank() int {
	if p.fixed() == len(p) {
		return exactRank + len(p)
	}
	return p.fixed()
}

// foldsPaths says that the usual file systems of the system find a file by its name in other letters as well.
const foldsPaths = runtime.GOOS == "darwin" || runtime.GOOS == "windows"

func (p pathPattern) matches(n Need, d Decision) bool {
	return p.matchesPath(n.Target, foldsPaths && d != Allow)
}

// matchesPath matches a path, or with folds also another name of the same file on a file system that ignores case and
// the composition of characters.
func (p pathPattern) matchesPath(path string, folds bool) bool {
	rest, ok := strings.CutPrefix(filepath.ToSlash(path), "/")
	if !ok {
		return false
	}
	if folds {
		p, rest = strings.Split(folded(strings.Join(p, "/")), "/"), folded(rest)
	}
	var segments []string
	if rest != "" {
		segments = strings.Split(rest, "/")
	}
	return p.match(segments)
}

// folded returns a path in the form that is the same for all names of a file.
func folded(path string) string { return norm.NFC.String(cases.Fold().String(norm.NFD.String(path))) }

// match tracks after how many segments of the path the pattern can have matched so far: the time is the
// product of both lengths.
func (p pathPattern) match(segments []string) bool {
	reached := make([]bool, len(segments)+1)
	reached[0] = true
	for _, segment := range p {
		next := make([]bool, len(reached))
		for i, ok := range reached {
			switch {
			case segment == anyDepth:
				next[i] = ok || i > 0 && next[i-1]
			case ok && i < len(segments):
				next[i+1], _ = path.Match(segment, segments[i])
			}
		}
		reached = next
	}
	return reached[len(segments)]
}

// followed returns the pattern with the links in its fixed part followed, as in requests. This happens only
// when a rule is created, never later, when the link may point elsewhere.
func (p pathPattern) followed() pathPattern {
	n := p.fixed()
	target := FollowLinks("/", unescapePath(p[:n].String()))
	start := strings.Split(strings.Trim(EscapePath(filepath.ToSlash(target)), "/"), "/")
	return slices.DeleteFunc(slices.Concat(start, p[n:]), func(s string) bool { return s == "" })
}

// EscapePath returns a pattern that matches only the path.
func EscapePath(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(s)
}

func unescapePath(s string) string {
	return strings.NewReplacer(`\\`, `\`, `\*`, "*", `\?`, "?", `\[`, "[").Replace(s)
}

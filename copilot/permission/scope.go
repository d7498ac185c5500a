package permission

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/secret"
)

// Scope is the reach of a remembered answer.
type Scope struct {
	Kind  ScopeKind `json:"kind,omitzero"`  // the name that answers use
	Rules []string  `json:"rules,omitzero"` // the rules that it creates, as in a [Policy]
	Label string    `json:"label,omitzero"` // for people, such as "this exact command"
}

// ScopeKind is a kind of scope.
type ScopeKind string

// The kinds of scopes, narrowest first.
const (
	ScopeCommand   ScopeKind = "command"   // this exact command
	ScopeProgram   ScopeKind = "program"   // this program and subcommand, with any arguments
	ScopeCommands  ScopeKind = "commands"  // all commands
	ScopeFile      ScopeKind = "file"      // this file
	ScopeDirectory ScopeKind = "directory" // its directory and everything below
	ScopeWorkspace ScopeKind = "workspace" // the session's directory and everything below
	ScopeHost      ScopeKind = "host"      // this host
	ScopeTool      ScopeKind = "tool"      // this tool, of a server or a client
)

// ScopesOf returns the useful scopes for needs in a session of directory dir, narrowest first. They cover the
// needs that are asked about. It omits scopes after which the same question would be asked again, and scopes
// that would show a secret.
func ScopesOf(needs []Need, dir string, policies []Policy) []Scope {
	asked := slices.DeleteFunc(slices.Clone(needs), func(n Need) bool { return decideNeed(n, dir, policies) != Ask })
	var scopes []Scope
	for _, kind := range kindsFor(asked) {
		s, ok := scopeOf(kind, asked, dir)
		if !ok || isSecret(s) || Decide(needs, dir, append([]Policy{s.Policy(Allow)}, policies...)...) != Allow {
			continue
		}
		isSame := func(other Scope) bool { return slices.Equal(other.Rules, s.Rules) }
		if !slices.ContainsFunc(scopes, isSame) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// Policy returns the rules that remembering an answer creates.
func (s Scope) Policy(d Decision) Policy {
	p := Policy{}
	for _, key := range s.Rules {
		p[key] = d
	}
	return p
}

func isSecret(s Scope) bool {
	return slices.ContainsFunc(append(slices.Clone(s.Rules), s.Label), func(text string) bool { return secret.Mask(text) != text })
}

// kindsFor returns the kinds of scopes that all needs have in common.
func kindsFor(needs []Need) []ScopeKind {
	switch {
	case len(needs) == 0:
		return nil
	case slices.ContainsFunc(needs, func(n Need) bool { return isCommand(n.Name) && n.Target != "" }):
		return []ScopeKind{ScopeCommand, ScopeProgram, ScopeCommands}
	case isFile(needs[0].Name):
		return []ScopeKind{ScopeFile, ScopeDirectory, ScopeWorkspace}
	case strings.EqualFold(needs[0].Name, Fetch):
		return []ScopeKind{ScopeHost}
	}
	return []ScopeKind{ScopeTool}
}

// scopeOf returns the scope of a kind if each of the needs has one.
func scopeOf(kind ScopeKind, needs []Need, dir string) (Scope, bool) {
	s := Scope{Kind: kind}
	for _, n := range needs {
		key, ok := ruleFor(kind, n, dir)
		if !ok {
			return Scope{}, false
		}
		if !slices.Contains(s.Rules, key) {
			s.Rules = append(s.Rules, key)
		}
	}
	s.Label = s.label()
	return s, true
}

// ruleFor returns the rule that covers a need within a scope. Files and hosts that a command needs in addition
// are covered exactly, however many commands the scope covers.
func ruleFor(kind ScopeKind, n Need, dir string) (key string, ok bool) {
	switch {
	case isCommand(n.Name) && n.Target != "":
		return commandRule(kind, n)
	case isCommand(n.Name) && n.Opaque: // its effect is unknown
		return "", false
	case isFile(n.Name):
		return fileRule(kind, n, dir)
	case strings.EqualFold(n.Name, Fetch):
		return hostRule(n)
	}
	return withPattern(ruleTool, n.Name), kind == ScopeTool && n.isTool()
}

func commandRule(kind ScopeKind, n Need) (key string, ok bool) {
	switch kind {
	case ScopeProgram:
		key = withPattern(n.Name, n.Prefix+" *")
		return key, n.Prefix != ""
	case ScopeCommands:
		return n.Name, true
	case ScopeCommand, ScopeFile, ScopeDirectory, ScopeWorkspace, ScopeHost, ScopeTool:
	}
	if n.Opaque && n.Prefix == "" || n.Connects {
		return lineRule(n)
	}
	if p, err := parseCommand(n.Target); err == nil && p.rank() >= exactRank && p.matches(n, Allow) {
		return withPattern(n.Name, n.Target), true
	}
	return lineRule(n)
}

// lineRule covers a need only within the same command line: as the input of another command, or with other
// variables, an opaque command does something else.
func lineRule(n Need) (key string, ok bool) {
	line := strings.TrimSpace(n.Line)
	return withPattern(n.Name, "="+line), line != "" && len(line) < maxPattern
}

func fileRule(kind ScopeKind, n Need, dir string) (key string, ok bool) {
	path := filepath.ToSlash(n.Target)
	switch {
	case path == "":
		key, ok = lineRule(n)
		return key, ok && kind == ScopeCommand
	case kind == ScopeDirectory:
		path = filepath.ToSlash(filepath.Dir(n.Target))
		return withPattern(n.Name, EscapePath(path)+"/**"), !isBroad(path)
	case kind == ScopeWorkspace:
		return withPattern(n.Name, EscapePath(filepath.ToSlash(dir))+"/**"), within(dir, n.Target) && !isBroad(dir)
	}
	return withPattern(n.Name, EscapePath(path)), len(path) < maxPattern/2
}

// isBroad reports whether a directory contains the user's home, and thus everything they own.
func isBroad(dir string) bool {
	home, err := os.UserHomeDir()
	return dir == "/" || err == nil && within(dir, Canonical(home))
}

func hostRule(n Need) (key string, ok bool) {
	u, err := url.Parse(n.Target)
	if err != nil || u.Host == "" {
		return "", false
	}
	_, err = parseHost(u.Host)
	return withPattern(n.Name, strings.ToLower(u.Host)), err == nil
}

func withPattern(name, pattern string) string { return name + "(" + pattern + ")" }

// label describes what the scope covers: all of its rules, except that a single command stands for its line.
func (s Scope) label() string {
	switch s.Kind {
	case ScopeCommand:
		return "this exact command"
	case ScopeProgram:
		return s.withOthers(isCommand, s.patterns(isCommand)...)
	case ScopeFile:
		first := "this file: "
		if len(s.paths()) > 1 {
			first = "these files: "
		}
		return s.withOthers(isFile, first+strings.Join(s.paths(), ", "))
	case ScopeDirectory:
		return s.withOthers(isFile, "files in "+strings.Join(s.paths(), ", ")+" and below")
	case ScopeWorkspace:
		return s.withOthers(isFile, "all files in the working directory")
	case ScopeHost:
		return s.withOthers(isHost, "this host: "+strings.Join(s.patterns(isHost), ", "))
	case ScopeCommands:
		return s.withOthers(isCommand, s.names())
	case ScopeTool:
	}
	return "this tool: " + strings.Join(s.patterns(takesPattern), ", ")
}

// patterns returns the patterns of the rules whose names satisfy isNamed.
func (s Scope) patterns(isNamed func(string) bool) (list []string) {
	for _, key := range s.Rules {
		if name, body, has := cutPattern(key); has && isNamed(name) {
			list = append(list, body)
		}
	}
	return list
}

// paths returns the files or directories of the rules for files, each once.
func (s Scope) paths() (list []string) {
	for _, body := range s.patterns(isFile) {
		if path := unescapePath(strings.TrimSuffix(body, "/"+anyDepth)); !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	return list
}

// withOthers adds what the rules with other names cover.
func (s Scope) withOthers(isOwn func(string) bool, list ...string) string {
	for _, key := range s.Rules {
		name, body, has := cutPattern(key)
		switch {
		case isOwn(name) || !has:
		case strings.HasPrefix(body, "="):
			list = append(list, name+" of this line")
		case isNamed(name, Write):
			list = append(list, "writing "+unescapePath(body))
		case isNamed(name, Read):
			list = append(list, "reading "+unescapePath(body))
		default:
			list = append(list, "the host "+body)
		}
	}
	return strings.Join(list, ", ")
}

// names describes the commands that are covered as a whole.
func (s Scope) names() string {
	var names []string
	for _, key := range s.Rules {
		switch {
		case key == Exec:
			names = append(names, "all commands")
		case isCommand(key):
			names = append(names, "all of "+key)
		}
	}
	return strings.Join(names, ", ")
}

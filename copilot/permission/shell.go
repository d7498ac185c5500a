package permission

import (
	"slices"
	"strings"
)

// ShellNeeds parses shell command lines and returns the permissions that they need: at least one, without
// duplicates. What cannot be parsed is opaque. Several lines belong to the same request, such as a command
// line and its segments.
//
// A plain git command needs the matching git permission. Everything else needs [Exec], including git if its
// words, its environment or the address of a repository may name a program. A redirection to a file also
// needs [Write]. A command nested in another one, as in "sudo git push", also needs what it would need alone.
func ShellNeeds(lines ...string) []Need {
	r := reading{}
	for _, line := range lines {
		r.line(line, []string{""}, 0)
	}
	if len(r.needs) == 0 {
		return []Need{{Name: Exec, Opaque: true}} // its content is unknown
	}
	return r.needs
}

// LineNeeds returns the needs of a command line with its segments, which are lines of [ShellNeeds], too.
func LineNeeds(line string, segments ...string) []Need {
	needs := ShellNeeds(append(segments, line)...)
	for i := range needs {
		needs[i].Line = line
	}
	return needs
}

// reading collects the needs of command lines.
type reading struct{ needs []Need }

func (r *reading) add(n Need) {
	if !slices.Contains(r.needs, n) {
		r.needs = append(r.needs, n)
	}
}

// maxDepth is the maximum depth of nested command texts; deeper ones are only opaque.
const maxDepth = 5

// maxTries is the maximum number of words "git" and "tee" examined in one command.
const maxTries = 20

// line reads a command line that the shell runs in one of these directories.
func (r *reading) line(line string, dirs []string, depth int) {
	if depth > maxDepth {
		return
	}
	s := parseScript(line)
	if s.opaque {
		r.add(Need{Name: Exec, Target: strings.TrimSpace(line), Opaque: true})
	}
	r.guess(s.guesses, depth)
	dirs = s.directories(dirs)
	connects := mayConnect(s.redirects)
	for _, c := range s.commands {
		c.connects = connects || mayConnect(c.redirects)
		r.command(c, dirs, depth)
		r.redirects(c.redirects, dirs)
	}
	r.redirects(s.redirects, dirs)
	if slices.ContainsFunc(s.commands, command.isGit) {
		r.reads(s.redirects, dirs)
	}
}

// guess adds what commands that may be in a text do with git. That it runs something is already known.
func (r *reading) guess(commands []command, depth int) {
	guessed := reading{}
	for _, c := range commands {
		guessed.command(c, nil, depth)
	}
	for _, n := range guessed.needs {
		if n.Name != Exec {
			r.add(n)
		}
	}
}

func (r *reading) command(c command, dirs []string, depth int) {
	steers := slices.ContainsFunc(c.assigns, func(a assign) bool { return !a.isHarmless(len(c.words) == 0) })
	if len(c.words) == 0 {
		r.add(Need{Name: Exec, Target: c.shown(), Opaque: steers, Connects: c.connects})
		return
	}
	if args, isGit := c.git(); isGit {
		r.git(c, args, steers || c.words[0].vague || c.words[0].text != "git", dirs)
		r.reads(c.redirects, dirs)
		return
	}
	program, args := c.words[0], c.words[1:]
	n := Need{Name: Exec, Target: c.shown(), Opaque: steers || program.vague || !runsNothing(program.text, args), Connects: c.connects}
	if !steers && !program.vague {
		n.Prefix = prefix(program.text, args, n.Opaque)
	}
	r.add(n)
	if isTee(program) {
		r.tee(args, dirs)
	}
	if name := programName(program.text); runsText(name) {
		r.inner(args, dirs, depth)
	} else if strings.ContainsAny(name, " \t") { // another language, in which quotes mean text
		r.line(name, dirs, depth+1)
	}
}

func (c command) isGit() (isGit bool) {
	if len(c.words) > 0 {
		_, isGit = c.git()
	}
	return isGit
}

// git returns the arguments of git if the command is one.
func (c command) git() (args []word, isGit bool) {
	name := programName(c.words[0].text)
	if sub, dashed := strings.CutPrefix(name, "git-"); dashed { // the names of programs in git's own directory
		return append([]word{literal(sub)}, c.words[1:]...), true
	}
	return c.words[1:], name == "git"
}

// inner looks for commands among the arguments of a program that runs commands.
func (r *reading) inner(args []word, dirs []string, depth int) {
	tries := 0
	for i, a := range args {
		c := command{words: args[i:]}
		words, isGit := c.git()
		switch {
		case tries == maxTries:
		case isGit:
			tries++
			r.git(c, words, a.text != "git", dirs)
		case isTee(a):
			tries++
			r.tee(words, dirs)
		}
		if strings.ContainsAny(a.text, " \t\n;&|(<>") {
			r.line(a.text, dirs, depth+1)
		}
	}
}

func isTee(w word) bool { return programName(w.text) == "tee" }

// tee adds the files that tee writes.
func (r *reading) tee(args []word, dirs []string) {
	for _, a := range args {
		if !strings.HasPrefix(a.text, "-") {
			r.file(Write, a, dirs)
		}
	}
}

// shown returns the command in the form of [Need.Target].
func (c command) shown() string {
	var shown []string
	for _, a := range c.assigns {
		if !a.isHarmless(len(c.words) == 0) || len(c.words) == 0 {
			shown = append(shown, a.shown)
		}
	}
	for _, w := range c.words {
		shown = append(shown, w.shown)
	}
	return strings.Join(shown, " ")
}

// programName returns the name of a program without its path, in lower case, because some file systems are
// case-insensitive.
func programName(path string) string {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	return strings.TrimSuffix(name, ".exe")
}

package permission

import (
	"slices"
	"strings"
)

// ShellNeeds reads command lines of a shell and returns the permissions that
// they need, at least one, each once. What cannot be read is opaque. Several
// lines are of one request, such as a command line and its segments.
//
// A plain command of git needs the name of git that stands for it; everything
// else needs [Exec], and so does git when its words, its environment or the
// address of a repository may name a program. A redirection to a file needs
// [Write] besides. Commands that stand in the words of another, as in "sudo
// git push", need what they need alone.
func ShellNeeds(lines ...string) []Need {
	r := reading{}
	for _, line := range lines {
		r.line(line, []string{""}, 0)
	}
	if len(r.needs) == 0 {
		return []Need{{Name: Exec, Opaque: true}} // nothing could be read from it
	}
	return r.needs
}

// reading is what is known of command lines so far.
type reading struct{ needs []Need }

func (r *reading) add(n Need) {
	if !slices.Contains(r.needs, n) {
		r.needs = append(r.needs, n)
	}
}

// maxDepth is how deep text in text is read; deeper it is only opaque.
const maxDepth = 5

// maxTries is how many of the words "git" and "tee" in one command are looked at.
const maxTries = 20

// line reads what a shell runs that is in one of these directories.
func (r *reading) line(line string, dirs []string, depth int) {
	if depth > maxDepth {
		return
	}
	s := parseScript(line)
	if s.opaque {
		r.add(Need{Name: Exec, Target: strings.TrimSpace(line), Opaque: true})
	}
	if s.broken {
		r.guess(s, depth)
		return
	}
	dirs = s.directories(dirs)
	for _, c := range s.commands {
		r.command(c, dirs, depth)
		r.redirects(c.redirects, dirs)
	}
	r.redirects(s.redirects, dirs)
}

// guess adds what a text that is no shell command may do with git. That it runs
// something is known already.
func (r *reading) guess(s script, depth int) {
	guessed := reading{}
	for _, c := range s.commands {
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
		r.add(Need{Name: Exec, Target: c.shown(), Opaque: steers})
		return
	}
	if args, isGit := c.git(); isGit {
		r.git(c, args, steers || c.words[0].vague || c.words[0].text != "git", dirs)
		r.reads(c, dirs)
		return
	}
	program, args := c.words[0], c.words[1:]
	n := Need{Name: Exec, Target: c.shown(), Opaque: steers || program.vague || !runsNothing(program.text, args)}
	if !steers && !program.vague {
		n.Prefix = prefix(program.text, args, n.Opaque)
	}
	r.add(n)
	if isTee(program) {
		r.tee(args, dirs)
	}
	if name := programName(program.text); runsText(name) {
		r.inner(args, dirs, depth)
	} else if strings.ContainsAny(name, " \t") { // of another language, in which quotes mean text
		r.line(name, dirs, depth+1)
	}
}

// git gives the arguments of git, if the command is one.
func (c command) git() (args []word, isGit bool) {
	name := programName(c.words[0].text)
	if sub, dashed := strings.CutPrefix(name, "git-"); dashed { // as it lies in git's own directory
		return append([]word{literal(sub)}, c.words[1:]...), true
	}
	return c.words[1:], name == "git"
}

// inner looks for commands among the arguments of a program that runs them.
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

// shown is the command as [Need.Target] has it.
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

// programName is what a program is called, wherever it lies. Some file systems
// do not care about case.
func programName(path string) string {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	return strings.TrimSuffix(name, ".exe")
}

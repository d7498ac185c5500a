package copilot

import (
	"slices"
	"strings"
)

// ShellNames puts segments of a shell command line under the names of
// permissions. A segment is what stands between ";", "&&", "|" and the like; a
// whole line will do as well. Opaque says that code runs which is given as text
// or made at run time, so that the names cannot tell all that is done.
func ShellNames(segments []string) (names []string, opaque bool) {
	r := reading{}
	for _, s := range segments {
		r.line(s, 0)
	}
	if len(r.names) == 0 {
		return []string{PermExec}, true // nothing could be read from it
	}
	return r.names, r.opaque
}

// reading is what is known of a command line so far.
type reading struct {
	names  []string
	opaque bool
}

func (r *reading) add(name string) {
	if !slices.Contains(r.names, name) {
		r.names = append(r.names, name)
	}
}

// maxDepth is how deep text in text is read; deeper it is only opaque.
const maxDepth = 5

// maxTries is how many of the words "git" in one command are looked at.
const maxTries = 20

func (r *reading) line(line string, depth int) {
	if depth > maxDepth {
		return
	}
	commands, opaque := shellCommands(line)
	r.opaque = r.opaque || opaque
	for _, words := range commands {
		r.command(words, depth)
	}
}

func (r *reading) command(words []word, depth int) {
	if words = skipKeywords(words); len(words) == 0 {
		return
	}
	if words = r.skipAssignments(words); len(words) == 0 {
		r.add(PermExec)
		return
	}
	program := programName(words[0].text)
	sub, dashed := strings.CutPrefix(program, "git-") // as it lies in git's own directory
	switch {
	case program == "git":
		r.git(words[1:])
	case dashed:
		r.git(append([]word{{text: sub}}, words[1:]...))
	default:
		r.add(PermExec)
		r.program(program, words[0].vague, words[1:], depth)
	}
}

// program reads a command of another program than git.
func (r *reading) program(name string, vague bool, args []word, depth int) {
	switch {
	case runsText(name) || name == "find" && slices.ContainsFunc(args, findRuns):
		r.opaque = true
		r.inner(args, depth)
	case vague && name != "[" && name != "[[":
		r.opaque = true
	case strings.ContainsAny(name, " \t"): // of another language, in which quotes mean text
		r.line(name, depth+1)
	case slices.ContainsFunc(args, isGit): // whatever it does with that
		r.opaque = true
	}
}

// inner looks for commands among the arguments of a program that runs them.
func (r *reading) inner(args []word, depth int) {
	tries := 0
	for i, a := range args {
		if isGit(a) && tries < maxTries {
			tries++
			r.git(args[i+1:])
		}
		if strings.ContainsAny(a.text, " \t\n;&|(") {
			r.line(a.text, depth+1)
		}
	}
}

func isGit(w word) bool { return programName(w.text) == "git" }

func findRuns(w word) bool {
	return strings.HasPrefix(w.text, "-exec") || strings.HasPrefix(w.text, "-ok")
}

// programName is what a program is called, wherever it lies. Some file systems
// do not care about case.
func programName(path string) string {
	name := strings.ToLower(path[strings.LastIndexAny(path, `/\`)+1:])
	return strings.TrimSuffix(name, ".exe")
}

// skipKeywords skips the words of the shell before a command.
func skipKeywords(words []word) []word {
	for len(words) > 0 {
		switch words[0].text {
		case "if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "!", "{", "}":
			words = words[1:]
		default:
			return words
		}
	}
	return words
}

// skipAssignments skips the NAME=value words before a command.
func (r *reading) skipAssignments(words []word) []word {
	for len(words) > 0 {
		name, value, ok := strings.Cut(words[0].text, "=")
		if !ok || !isVariable(name) {
			return words
		}
		if steers(name) && !slices.Contains([]string{"", "0", "1", "cat", "true", ":"}, value) {
			r.opaque = true
		}
		words = words[1:]
	}
	return words
}

func isVariable(name string) bool {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	name = strings.TrimSuffix(name, "+")
	return name != "" && strings.Trim(name, letters+"0123456789") == "" && strings.ContainsAny(name[:1], letters)
}

// steers says whether a variable can make an honest program run another one.
func steers(variable string) bool {
	switch variable {
	case "PATH", "HOME", "XDG_CONFIG_HOME", "PAGER", "EDITOR", "VISUAL", "SSH_ASKPASS", "BASH_ENV", "ENV", "IFS":
		return true
	}
	return strings.HasPrefix(variable, "GIT_") || strings.HasPrefix(variable, "LD_") || strings.HasPrefix(variable, "DYLD_")
}

// runsText says whether a program runs commands, or code given as text.
func runsText(program string) bool {
	switch program {
	case ".", "source", "eval", "exec", "command", "builtin", "trap", "alias", "coproc", "function":
		return true
	}
	switch strings.TrimRight(program, "0123456789.-") { // python3.13
	case "sh", "bash", "rbash", "zsh", "dash", "ash", "ksh", "csh", "tcsh", "fish", "busybox", "pwsh", "powershell", "cmd",
		"env", "xargs", "sudo", "su", "doas", "runuser", "nohup", "time", "timeout", "nice", "ionice", "setsid", "stdbuf",
		"watch", "parallel", "entr", "flock", "script", "chroot", "unshare", "nsenter", "strace", "systemd-run", "ssh",
		"screen", "tmux", "at", "batch", "crontab", "expect",
		"python", "pypy", "perl", "ruby", "node", "deno", "bun", "php", "lua", "tclsh", "osascript",
		"awk", "gawk", "mawk", "nawk", "make", "gmake":
		return true
	}
	return false
}

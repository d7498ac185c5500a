package copilot

import (
	"path"
	"slices"
	"strings"
)

// ShellNames puts the segments of a shell command line (what stands between
// ";", "&&", "|" and the like) under the names of permissions. Opaque says that
// a segment runs code given as text, which the names cannot describe.
func ShellNames(segments []string) (names []string, opaque bool) {
	for _, s := range segments {
		name, text := segmentName(strings.Fields(s))
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		opaque = opaque || text
	}
	if len(names) == 0 {
		return []string{PermExec}, true // nothing could be read from it
	}
	return names, opaque
}

func segmentName(words []string) (name string, opaque bool) {
	words = dropAssignments(words)
	if len(words) == 0 {
		return PermExec, false
	}
	program := path.Base(strings.Trim(words[0], `"'`))
	switch {
	case program == "git":
		return gitName(words[1:])
	case strings.ContainsAny(words[0], "$`\\"), runsText(program):
		return PermExec, true
	}
	return PermExec, false
}

// dropAssignments skips the NAME=value words before a command.
func dropAssignments(words []string) []string {
	for len(words) > 0 && strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "=") {
		words = words[1:]
	}
	return words
}

// runsText says whether a program runs code or commands given to it as text.
func runsText(program string) bool {
	switch program {
	case "sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "exec", "source", ".", "env", "xargs", "sudo", "su", "doas",
		"nohup", "time", "timeout", "nice", "setsid", "command", "builtin", "watch", "find", "parallel", "ssh",
		"perl", "ruby", "node", "deno", "bun", "php", "lua", "awk", "gawk", "osascript", "pwsh", "make":
		return true
	}
	return strings.HasPrefix(program, "python")
}

// gitName reads `git [options] subcommand …`.
func gitName(args []string) (name string, opaque bool) {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		if slices.Contains([]string{"-C", "--git-dir", "--work-tree", "--namespace", "--exec-path"}, args[0]) && len(args) > 1 {
			args = args[1:]
		}
		if args[0] == "-c" { // can define an alias that runs anything
			return PermExec, true
		}
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		return PermExec, false
	case args[0] == "commit":
		return PermCommit, false
	case args[0] == "push" && forces(args[1:]):
		return PermForcePush, false
	case args[0] == "push":
		return PermPush, false
	}
	return PermExec, false
}

// forces says whether the arguments of a push overwrite what is there.
func forces(args []string) bool {
	for _, a := range args {
		long := strings.HasPrefix(a, "--force") || a == "--mirror" || a == "--delete"
		short := len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a, "fd")
		if long || short || strings.HasPrefix(a, "+") {
			return true
		}
	}
	return false
}

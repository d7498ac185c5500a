package permission

import (
	"slices"
	"strings"
)

// git reads the arguments of git: `[options] subcommand …`. foreign means that a program other than git may
// run, or that git may run programs selected by the command.
func (r *reading) git(c command, args []word, foreign bool, dirs []string) {
	g := gitCommand{opaque: foreign}
	args = g.global(args)
	if len(args) == 0 {
		r.add(Need{Name: Exec, Target: c.shown(), Opaque: g.opaque, Connects: c.connects})
		return
	}
	name := g.subcommand(args[0], args[1:])
	n := Need{Name: name, Target: c.shown(), Prefix: g.prefix("git " + args[0].text), Opaque: g.opaque, Connects: c.connects}
	r.add(n)
	for _, f := range g.files {
		r.file(Read, f, dirs)
	}
	if name != Exec && (g.opaque || g.elsewhere) {
		n.Name = Exec
		r.add(n)
	}
}

// gitCommand holds the known properties of a git command.
type gitCommand struct {
	opaque    bool   // it may run other programs
	elsewhere bool   // it uses another repository than that of the directory
	files     []word // additional files that it reads
}

// prefix returns the value for [Need.Prefix].
func (g *gitCommand) prefix(words string) string {
	if g.opaque || g.elsewhere {
		return ""
	}
	return words
}

// global reads the options before the subcommand and returns the remaining arguments.
func (g *gitCommand) global(args []word) []word {
	for len(args) > 0 && (strings.HasPrefix(args[0].text, "-") || args[0].vague) {
		switch args[0].text {
		case "--no-pager", "-P", "--version", "-v", "--no-optional-locks", "--no-replace-objects",
			"--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs":
			g.opaque = g.opaque || args[0].vague
		case "-C":
			g.elsewhere = true
		default: // configuration of another repository or from the command line
			g.opaque = true
		}
		if gitTakesValue(args[0].text) && len(args) > 1 {
			g.opaque = g.opaque || args[1].loose
			args = args[1:]
		}
		args = args[1:]
	}
	return args
}

func gitTakesValue(option string) bool {
	switch option {
	case "-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source":
		return true
	}
	return false
}

// subcommand reads a subcommand with its arguments and returns the name of its permission.
func (g *gitCommand) subcommand(sub word, args []word) (name string) {
	plain := false
	switch sub.text {
	case "commit":
		var a arguments
		a, plain = readArguments(args, commitOption)
		name, g.files = Commit, a.files
	case "push":
		name, plain = pushName(args), isPlainPush(args)
	case "send-pack":
		name = pushName(args)
	default:
		name, plain = Exec, isPlainGit(sub.text, args)
	}
	g.opaque = g.opaque || sub.vague || !plain
	return name
}

func isPlainPush(args []word) bool {
	a, ok := readArguments(args, pushOption)
	return ok && (len(a.words) == 0 || isPlainRemote(a.words[0]))
}

func pushName(args []word) string {
	if slices.ContainsFunc(args, func(a word) bool { return forces(a.text) }) {
		return ForcePush
	}
	return Push
}

// forces reports whether an argument makes a push overwrite or delete something. Long options may be
// abbreviated to an unambiguous prefix.
func forces(arg string) bool {
	switch {
	case strings.HasPrefix(arg, "--"):
		for _, option := range []string{"--for", "--de", "--m", "--pru"} { // force*, delete, mirror, prune
			if strings.HasPrefix(arg, option) {
				return true
			}
		}
		return false
	case strings.HasPrefix(arg, "-"):
		return strings.ContainsAny(arg, "fd")
	case strings.HasPrefix(arg, ":"):
		return len(arg) > 1 // otherwise nothing is pushed there
	}
	return strings.HasPrefix(arg, "+")
}

// isPlainGit reports whether a subcommand that needs exec.run in any case runs no other programs. An unknown
// subcommand is an alias or an external program.
func isPlainGit(sub string, args []word) bool {
	switch sub {
	case "add", "branch", "check-ignore", "checkout", "clean", "count-objects", "init", "ls-files", "ls-tree", "mv", "reset", "restore",
		"rev-parse", "rm", "stash", "status", "switch", "tag", "update-index", "version":
		return !slices.ContainsFunc(args, func(a word) bool { return mayBeAmong(a, []string{"--template"}) })
	case "config":
		return readsConfig(args)
	case "bisect", "submodule": // which have commands of their own
		if slices.ContainsFunc(args, func(a word) bool { return a.vague }) {
			return false
		}
	case "grep":
		args = beforeGrepDashes(args)
	case "blame", "diff", "log", "show":
		args = beforeDashes(args)
	case "am", "apply", "archive", "bundle", "cat-file", "check-attr", "cherry", "cherry-pick", "clone", "describe",
		"diff-files", "diff-index", "diff-tree", "fetch", "for-each-ref", "format-patch", "fsck", "gc", "hash-object", "ls-remote",
		"merge", "merge-base", "name-rev", "notes", "pull", "range-diff", "read-tree", "rebase", "reflog", "remote", "rev-list",
		"revert", "shortlog", "show-ref", "sparse-checkout", "symbolic-ref", "update-ref", "var", "worktree", "write-tree":
	default:
		return false
	}
	risky := riskyGitOptions(sub)
	return !slices.ContainsFunc(args, func(a word) bool {
		return a.loose || strings.HasPrefix(a.text, "$") || mayBeAmong(a, risky) || namesHelper(a.text)
	})
}

// beforeDashes returns the arguments that may be options.
func beforeDashes(args []word) []word {
	for i, a := range args {
		if a.text == "--" {
			return args[:i]
		}
	}
	return args
}

// beforeGrepDashes is beforeDashes for git grep, where a "--" may be the value of the option before it.
func beforeGrepDashes(args []word) []word {
	for i, a := range args {
		if a.text == "--" && (i == 0 || !mayTakeValue(args[i-1])) {
			return args[:i]
		}
	}
	return args
}

// mayTakeValue reports whether an argument of git grep may be an option whose value is the next argument.
func mayTakeValue(arg word) bool {
	return arg.vague || strings.HasPrefix(arg.text, "-") && strings.Trim(arg.text, "-nliwcEFPGhHvLIqoa") != ""
}

// mayBeAmong reports whether an argument is one of these options, or one whose name the shell computes.
func mayBeAmong(arg word, options []string) bool {
	known, _, isComputed := strings.Cut(arg.text, "$")
	switch {
	case !arg.vague, !isComputed, !strings.HasPrefix(known, "-"), strings.Contains(known, "="):
		return isAmong(arg.text, options)
	case known == "-", strings.HasPrefix(known, "--"):
		return true
	}
	return slices.ContainsFunc(options, func(o string) bool { return len(o) == 2 }) // short options can be combined
}

// riskyGitOptions returns the options with which a subcommand runs a program of the caller's choice.
func riskyGitOptions(sub string) []string {
	risky := []string{"--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--open-files-in-pager", "--template", "--config"}
	switch sub {
	case "rebase":
		return append(risky, "-x", "--strategy", "-s") // git-merge-<strategy>
	case "merge", "pull", "cherry-pick", "revert":
		return append(risky, "--strategy", "-s")
	case "grep":
		return append(risky, "-O")
	case "clone":
		return append(risky, "-c", "-u")
	case "submodule":
		return append(risky, "foreach")
	case "bisect":
		return append(risky, "run")
	}
	return risky
}

// namesHelper reports whether the address of a repository, alone or after an option, selects a helper
// program: `ext::sh -c …`.
func namesHelper(arg string) bool {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	scheme, _, ok := strings.Cut(arg, "::")
	return ok && scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// readsConfig reports whether git config only reads the configuration, or sets the author.
func readsConfig(args []word) bool {
	if len(args) == 0 || args[0].vague {
		return false
	}
	switch args[0].text {
	case "--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list":
		return true
	}
	isPerson := args[0].text == "user.name" || args[0].text == "user.email"
	return !strings.HasPrefix(args[0].text, "-") && (len(args) == 1 || len(args) == 2 && isPerson)
}

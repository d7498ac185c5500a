package copilot

import (
	"slices"
	"strings"
)

// git reads the arguments of git: `[options] subcommand …`. Foreign says that it
// may not be git itself that runs, or runs with programs that somebody selects.
func (r *reading) git(c command, args []word, foreign bool, dirs []string) {
	g := gitCommand{opaque: foreign}
	args = g.global(args)
	if len(args) == 0 {
		r.add(Need{Name: PermExec, Target: c.shown(), Opaque: g.opaque})
		return
	}
	name := g.subcommand(args[0], args[1:])
	n := Need{Name: name, Target: c.shown(), Prefix: g.prefix("git " + args[0].text), Opaque: g.opaque}
	r.add(n)
	for _, f := range g.files {
		r.file(PermRead, f, dirs)
	}
	if name != PermExec && (g.opaque || g.elsewhere) {
		n.Name = PermExec
		r.add(n)
	}
}

// gitCommand is what is known of a command of git.
type gitCommand struct {
	opaque    bool   // it may run other programs
	elsewhere bool   // it uses another repository than that of the directory
	files     []word // that it reads besides
}

func (g *gitCommand) prefix(words string) string {
	if g.opaque || g.elsewhere {
		return ""
	}
	return words
}

// global reads the options before the subcommand and returns what stands behind.
func (g *gitCommand) global(args []word) []word {
	for len(args) > 0 && (strings.HasPrefix(args[0].text, "-") || args[0].vague) {
		switch name, _, _ := strings.Cut(args[0].text, "="); name {
		case "--no-pager", "-P", "--version", "-v", "--no-optional-locks", "--no-replace-objects",
			"--literal-pathspecs", "--glob-pathspecs", "--noglob-pathspecs", "--icase-pathspecs":
			g.opaque = g.opaque || args[0].vague
		case "-C":
			g.elsewhere = true
		default: // the configuration of another repository, or of the command line
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

// subcommand reads a subcommand with its arguments and returns the name of the
// permission for it.
func (g *gitCommand) subcommand(sub word, args []word) (name string) {
	switch sub.text {
	case "commit":
		a, ok := readArguments(args, commitOption)
		g.opaque, g.files = g.opaque || !ok, a.files
		return PermCommit
	case "push":
		a, ok := readArguments(args, pushOption)
		g.opaque = g.opaque || !ok || len(a.words) > 0 && !isPlainRemote(a.words[0])
		return pushName(args)
	case "send-pack":
		g.opaque = true
		return pushName(args)
	}
	if i := slices.IndexFunc(args, func(a word) bool { return a.text == "--" }); i >= 0 && slices.Contains([]string{"log", "diff", "show", "grep", "blame"}, sub.text) {
		args = args[:i]
	}
	// What is not known is an alias, or a program of its own.
	g.opaque = g.opaque || sub.vague || !isPlainGit(sub.text) ||
		slices.ContainsFunc(args, func(a word) bool { return gitRuns(sub.text, a) }) || sub.text == "config" && !readsConfig(args)
	return PermExec
}

func pushName(args []word) string {
	if slices.ContainsFunc(args, func(a word) bool { return forces(a.text) }) {
		return PermForcePush
	}
	return PermPush
}

// forces says whether an argument of a push makes it overwrite or delete what
// is there. Long options may be shortened as long as they are clear.
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
		return len(arg) > 1 // nothing is pushed there
	}
	return strings.HasPrefix(arg, "+")
}

// gitRuns says whether an argument of a subcommand that needs exec.run anyway
// names a program to be run, or may.
func gitRuns(sub string, arg word) bool {
	risky := []string{"--exec", "--upload-pack", "--receive-pack", "--ext-diff", "--open-files-in-pager", "--template", "--config"}
	switch sub {
	case "rebase":
		risky = append(risky, "-x", "--strategy", "-s")
	case "merge", "pull", "cherry-pick", "revert":
		risky = append(risky, "--strategy", "-s") // git-merge-<strategy>
	case "grep":
		risky = append(risky, "-O")
	case "clone":
		risky = append(risky, "-c", "-u")
	case "submodule":
		risky = append(risky, "foreach")
	case "bisect":
		risky = append(risky, "run")
	}
	switch sub {
	case "status", "add", "mv", "rm", "ls-files", "ls-tree", "rev-parse", "restore", "reset", "checkout", "switch", "stash", "branch",
		"tag", "clean":
		return false
	}
	return arg.loose || strings.HasPrefix(arg.text, "$") || isAmong(arg.text, risky) || namesHelper(arg.text)
}

// namesHelper says whether an address of a repository, alone or behind an option,
// is for a program of its own: `ext::sh -c …`.
func namesHelper(arg string) bool {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	scheme, _, ok := strings.Cut(arg, "::")
	return ok && scheme != "" && strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// readsConfig says whether git config only tells what is configured.
func readsConfig(args []word) bool {
	if len(args) == 0 || args[0].vague {
		return false
	}
	switch args[0].text {
	case "--get", "--get-all", "--get-regexp", "--list", "-l", "get", "list":
		return true
	}
	return len(args) == 1 && !strings.HasPrefix(args[0].text, "-")
}

// isPlainGit says whether a subcommand of git does by itself what it does.
func isPlainGit(sub string) bool {
	switch sub {
	case "add", "am", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-attr", "check-ignore",
		"checkout", "cherry", "cherry-pick", "clean", "clone", "config", "count-objects", "describe", "diff", "diff-files",
		"diff-index", "diff-tree", "fetch", "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "init",
		"log", "ls-files", "ls-remote", "ls-tree", "merge", "merge-base", "mv", "name-rev", "notes", "pull", "range-diff",
		"read-tree", "rebase", "reflog", "remote", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog",
		"show", "show-ref", "sparse-checkout", "stash", "status", "submodule", "switch", "symbolic-ref", "tag", "update-index",
		"update-ref", "var", "version", "worktree", "write-tree":
		return true
	}
	return false
}

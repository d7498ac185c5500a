package copilot

import (
	"slices"
	"strings"
)

// git reads the arguments of git: `[options] subcommand …`.
func (r *reading) git(args []word) {
	args = r.skipGitOptions(args)
	if len(args) == 0 {
		r.add(PermExec)
		return
	}
	sub, args := args[0], args[1:]
	switch sub.text {
	case "commit":
		r.add(PermCommit)
	case "push", "send-pack":
		r.push(args)
	default:
		r.add(PermExec)
		// What is not known is an alias, or a program of its own.
		r.opaque = r.opaque || sub.vague || !isPlainGit(sub.text)
	}
	r.opaque = r.opaque || slices.ContainsFunc(args, func(a word) bool { return gitRuns(sub.text, a.text) })
}

// skipGitOptions skips what stands before the subcommand.
func (r *reading) skipGitOptions(args []word) []word {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		name, _, hasValue := strings.Cut(args[0].text, "=")
		switch name {
		case "-c", "--config-env": // can define what is run in the course of things
			r.opaque = true
		case "--exec-path":
			r.opaque = r.opaque || hasValue
		}
		if gitTakesValue(name) && !hasValue && len(args) > 1 {
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

func (r *reading) push(args []word) {
	name := PermPush
	for _, a := range args {
		if forces(a.text) {
			name = PermForcePush
		}
		r.opaque = r.opaque || a.vague // it may become an option
	}
	r.add(name)
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

// gitRuns says whether an argument of a subcommand names a program to be run.
func gitRuns(sub, arg string) bool {
	for _, prefix := range []string{"--exe", "--upl", "--rece", "ext::"} { // exec, upload-pack, receive-pack
		if strings.HasPrefix(arg, prefix) {
			return true
		}
	}
	switch sub {
	case "rebase":
		return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, "x")
	case "submodule":
		return arg == "foreach"
	case "bisect":
		return arg == "run"
	}
	return false
}

// isPlainGit says whether a subcommand of git does by itself what it does.
func isPlainGit(sub string) bool {
	switch sub {
	case "add", "am", "apply", "archive", "bisect", "blame", "branch", "bundle", "cat-file", "check-attr", "check-ignore",
		"checkout", "cherry", "cherry-pick", "clean", "clone", "config", "count-objects", "describe", "diff", "diff-files",
		"diff-index", "diff-tree", "fetch", "for-each-ref", "format-patch", "fsck", "gc", "grep", "hash-object", "help", "init",
		"log", "ls-files", "ls-remote", "ls-tree", "merge", "merge-base", "mv", "name-rev", "notes", "pull", "range-diff",
		"read-tree", "rebase", "reflog", "remote", "reset", "restore", "rev-list", "rev-parse", "revert", "rm", "shortlog",
		"show", "show-ref", "sparse-checkout", "stash", "status", "submodule", "switch", "symbolic-ref", "tag", "update-index",
		"update-ref", "var", "version", "worktree", "write-tree":
		return true
	}
	return false
}

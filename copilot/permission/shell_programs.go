package permission

import (
	"slices"
	"strings"
)

// runsNothing reports whether a program is known to run no other program with these arguments. An unknown
// program may run any, and so may a program named by its path.
func runsNothing(program string, args []word) bool {
	if harmless, isOne := isHarmlessBuiltin(program, args); isOne {
		return harmless
	}
	risky, known := riskyOptions(program)
	switch {
	case program == "sed":
		return isPlainSed(args)
	case program == "tar":
		return isPlainTar(args)
	case !known:
		return len(args) == 1 && asksVersion(program, args[0].text)
	}
	return len(risky) == 0 || !slices.ContainsFunc(args, func(w word) bool { return w.vague || isAmong(w.text, risky) })
}

// isHarmlessBuiltin is runsNothing for the shell's own commands that set or look up variables, or run commands.
func isHarmlessBuiltin(program string, args []word) (harmless, isOne bool) {
	switch program {
	case "export", "declare", "typeset", "local", "readonly", "read":
		return !slices.ContainsFunc(args, func(w word) bool { return !setsHarmless(program, w) }), true
	case "unset":
		return !slices.ContainsFunc(args, func(w word) bool { return w.vague || isElement(w.text) }), true
	case "set", "shopt":
		return !slices.ContainsFunc(beforeDashes(args), setsKeyword), true
	case "test", "[":
		return !testEvaluates(args), true
	case "wait":
		return !slices.ContainsFunc(args, func(w word) bool { return waitMaySet(w, len(args)) }), true
	case "command":
		return len(args) > 0 && (args[0].text == "-v" || args[0].text == "-V"), true
	}
	return false, false
}

// setsKeyword reports whether an argument of set or shopt may be the option after which bash takes arguments such as PATH=x for variables.
func setsKeyword(w word) bool {
	return w.vague || w.text == "keyword" || strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "k")
}

// isElement reports whether a text is the name of an element of an array whose index bash computes, and may run commands: a[x].
func isElement(text string) bool {
	name, index, indexed := strings.Cut(text, "[")
	index = strings.TrimSuffix(index, "]")
	return indexed && isIdentifier(name) && !isDigits(index) && index != "@" && index != "*"
}

// testEvaluates reports whether test may look up a variable by a name that runs commands, perhaps with an operator that is not known.
func testEvaluates(args []word) bool {
	looksUp := slices.ContainsFunc(args, func(w word) bool { return w.text == "-v" || w.text == "-R" })
	isVague := slices.ContainsFunc(args, func(w word) bool { return w.vague })
	return looksUp && isVague || (looksUp || isVague) && slices.ContainsFunc(args, func(w word) bool { return isElement(w.text) })
}

// waitMaySet reports whether an argument of wait, of so many, may be its option -p with the name of a variable to set. $! is a number.
func waitMaySet(w word, count int) bool {
	if w.vague {
		return strings.Trim(w.shown, `"`) != "$!" && (w.loose || count > 1)
	}
	return strings.HasPrefix(w.text, "-") && strings.Contains(w.text, "p")
}

// isAmong reports whether an argument is one of these options. Long ones may be abbreviated and have a value;
// letters may be combined.
func isAmong(arg string, options []string) bool {
	name, _, _ := strings.Cut(arg, "=")
	return slices.ContainsFunc(options, func(option string) bool {
		switch {
		case strings.HasPrefix(option, "--"):
			return len(name) > 2 && strings.HasPrefix(option, name)
		case len(option) == 2:
			return strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") && strings.Contains(arg, option[1:])
		}
		return strings.HasPrefix(arg, option)
	})
}

// riskyOptions returns the options with which a program runs others. Programs that access the network are
// unknown on purpose: no permission name covers what they do.
func riskyOptions(program string) (risky []string, known bool) {
	switch program {
	case ":", "true", "false", "[[", "echo", "cd", "pushd", "popd", "dirs", "pwd", "exit", "return", "break", "continue",
		"shift", "kill", "sleep", "umask", "ulimit", "type", "which",
		"ls", "dir", "cat", "tac", "head", "tail", "wc", "uniq", "cut", "tr", "paste", "join", "comm", "fold", "fmt", "nl", "rev",
		"expand", "unexpand", "od", "xxd", "hexdump", "strings", "base32", "base64", "column", "seq", "yes", "shuf", "tsort", "numfmt",
		"factor", "expr", "jq", "cmp", "grep", "egrep", "fgrep", "tee", "dd", "truncate",
		"md5sum", "sha1sum", "sha224sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "cksum", "sum",
		"basename", "dirname", "realpath", "readlink", "stat", "du", "df", "tree", "mktemp",
		"mkdir", "rmdir", "rm", "mv", "cp", "ln", "touch", "chmod", "chown", "chgrp", "unlink", "link", "shred", "sync",
		"date", "cal", "uname", "whoami", "id", "groups", "users", "who", "logname", "hostname", "uptime", "nproc", "arch", "tty",
		"printenv", "getconf", "ps", "pgrep", "pkill", "killall", "free", "vmstat", "lscpu", "lsblk", "lsof",
		"gzip", "gunzip", "zcat", "xz", "unxz", "xzcat", "bzip2", "bunzip2", "bzcat", "unzip", "gofmt":
		return nil, true
	case "printf":
		return []string{"-v"}, true // sets a variable
	case "sort":
		return []string{"--compress-program"}, true
	case "split":
		return []string{"--filter"}, true
	case "diff":
		return []string{"--paginate", "-l"}, true
	case "install":
		return []string{"--strip-program", "--strip", "-s"}, true
	case "file":
		return []string{"--uncompress", "-z", "-Z"}, true
	case "find":
		return []string{"-exec", "-ok"}, true
	case "rg":
		return []string{"--pre", "--hostname-bin", "--search-zip", "-z"}, true
	}
	return nil, false
}

// asksVersion reports whether a program that is not a script only prints its version.
func asksVersion(program, arg string) bool {
	switch program {
	case "bash", "python", "python3", "pip", "pip3", "node", "npm", "npx", "pnpm", "yarn", "deno", "bun", "ruby", "perl", "php",
		"java", "javac", "mvn", "gradle", "rustc", "cargo", "gcc", "g++", "clang", "make", "cmake", "docker", "gh", "curl", "wget":
		return arg == "--version"
	case "go":
		return arg == "version"
	}
	return false
}

// setsHarmless reports whether an argument of read, export and the like sets only harmless variables.
func setsHarmless(program string, w word) bool {
	name, _, assigns := strings.Cut(w.text, "=")
	switch {
	case strings.HasPrefix(w.text, "-"):
		return !w.vague && !strings.ContainsAny(w.text, "fin") // functions, integers, whose values are computed, and references
	case w.vague:
		return false
	case program == "read" || program == "local" || !assigns:
		return isPlainVariable(name) || isData(name) || w.text == "" // of read -d ''
	}
	return isData(name)
}

// prefix returns the program with its subcommand for [Need.Prefix].
func prefix(program string, args []word, opaque bool) string {
	switch {
	case program == "[[":
		return ""
	case !opaque:
		return quoted(program)
	}
	subs, risky := buildTool(program)
	if len(args) == 0 || args[0].vague || !slices.Contains(subs, args[0].text) {
		return ""
	}
	if slices.ContainsFunc(args, func(w word) bool {
		return w.loose || isAmong(w.text, risky) || program == "dotnet" && !isPlainDotnet(w)
	}) {
		return ""
	}
	return program + " " + args[0].text
}

// buildTool returns the subcommands with which a build tool runs only what the project defines, and the options with which it runs more.
func buildTool(program string) (subs, risky []string) {
	switch program {
	case "go":
		subs = []string{"build", "doc", "env", "fmt", "list", "mod", "test", "vet", "version"}
		risky = []string{
			"-exec", "-toolexec", "-vettool", "-overlay", "-C", "-w", "--exec", "--toolexec", "--vettool", "--overlay", "-modfile",
			"-ldflags", "--ldflags", "-gccgoflags", "--gccgoflags", "-compiler", "--compiler", // which name the linker
		}
	case "npm", "pnpm", "yarn":
		subs = []string{"test", "t", "ci", "ls", "list", "outdated", "audit"}
		risky = []string{"--script-shell", "--prefix", "--shell", "--dir", "--cwd", "-C", "--userconfig", "--globalconfig", "--node-options"}
	case "cargo":
		subs = []string{"bench", "build", "check", "clippy", "doc", "fmt", "metadata", "test", "tree"}
		risky = []string{"--config", "--manifest-path", "-C", "-Z"}
	case "dotnet":
		subs = []string{"build", "format", "test"}
	}
	return subs, risky
}

// isPlainDotnet reports whether an argument of dotnet is a harmless option, or the name of something in the directory. Switches of MSBuild, in
// all their forms, and files with more of them run programs.
func isPlainDotnet(w word) bool {
	name, _, _ := strings.Cut(w.text, "=")
	switch name {
	case "-c", "--configuration", "-f", "--framework", "-r", "--runtime", "-o", "--output", "-v", "--verbosity", "--filter", "--nologo",
		"--no-restore", "--no-build", "--no-incremental", "--verify-no-changes":
		return true
	}
	return w.text != "" && !strings.ContainsAny(w.text[:1], "-/@~") && !strings.Contains(w.text, "..")
}

// runsText reports whether a program runs commands, or code given as text, from its arguments. These are then
// parsed as well.
func runsText(program string) bool {
	switch program {
	case ".", "source", "eval", "exec", "command", "builtin", "trap", "alias", "coproc", "function", "find":
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

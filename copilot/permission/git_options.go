package permission

import (
	"net/url"
	"slices"
	"strings"
)

// optionKind is the kind of argument that follows an option.
type optionKind int

const (
	optionUnknown  optionKind = iota
	optionFlag                // nothing
	optionOptional            // possibly a value, as "--option=value" or "-ovalue"
	optionValue               // a value, possibly in the next word
	optionFile                // like optionValue, the name of a file that is read
)

// arguments are the arguments of a subcommand whose options are all known.
type arguments struct {
	words []word // that are not options
	files []word // files to read, named by options
}

// readArguments reads the arguments of a subcommand. It returns false if an option is unknown, or a word may
// expand to one. Abbreviated options count as unknown.
func readArguments(args []word, kind func(option string) optionKind) (a arguments, ok bool) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg.loose, arg.vague && strings.HasPrefix(arg.text, "$"):
			return a, false
		case arg.text == "--":
			a.words = append(a.words, args...)
			return a, !slices.ContainsFunc(args, func(w word) bool { return w.vague })
		case !strings.HasPrefix(arg.text, "-"), arg.text == "-":
			a.words = append(a.words, arg)
		default:
			if args, ok = a.option(arg, args, kind); !ok {
				return a, false
			}
		}
	}
	return a, true
}

// option reads an option with its value, which may be in the next word, and returns the remaining arguments.
func (a *arguments) option(arg word, behind []word, kind func(option string) optionKind) (rest []word, ok bool) {
	k, value, given := option(arg, kind)
	switch {
	case k == optionUnknown:
		return nil, false
	case k == optionFlag, k == optionOptional:
		return behind, true
	case !given && (len(behind) == 0 || behind[0].loose):
		return nil, false
	case !given:
		value, behind = behind[0], behind[1:]
	}
	if k == optionFile && value.text != "-" {
		a.files = append(a.files, value)
	}
	return behind, true
}

// option reads an option, or several combined letters, of which the last determines the kind. given is true
// if the value is in the same word.
func option(arg word, kind func(option string) optionKind) (k optionKind, value word, given bool) {
	value = word{vague: arg.vague}
	if strings.HasPrefix(arg.text, "--") {
		name, rest, assigned := strings.Cut(arg.text, "=")
		if k = kind(name); assigned && k == optionFlag || arg.vague && !assigned {
			return optionUnknown, value, false
		}
		value.text = rest
		return k, value, assigned
	}
	if arg.vague {
		return optionUnknown, value, false
	}
	for i, letter := range arg.text[1:] {
		if k = kind("-" + string(letter)); k != optionFlag {
			value.text = arg.text[i+2:]
			return k, value, value.text != ""
		}
	}
	return k, value, false
}

// commitOption and pushOption know the options with which git runs nothing except itself and what the
// repository and its user have configured: hooks, an editor, a signature.
func commitOption(option string) optionKind {
	switch option {
	case "-a", "--all", "--amend", "--no-edit", "-e", "--edit", "-s", "--signoff", "--no-signoff", "-q", "--quiet", "-v", "--verbose",
		"--allow-empty", "--allow-empty-message", "-n", "--no-verify", "--verify", "--dry-run", "--short", "--branch", "--porcelain",
		"--long", "-z", "--null", "-o", "--only", "-i", "--include", "--status", "--no-status", "--reset-author", "--no-gpg-sign",
		"--no-post-rewrite":
		return optionFlag
	case "-u", "--untracked-files":
		return optionOptional
	case "-m", "--message", "-c", "--reedit-message", "-C", "--reuse-message", "--fixup", "--squash", "--author", "--date",
		"--cleanup", "--trailer":
		return optionValue
	case "-F", "--file":
		return optionFile
	}
	return optionUnknown
}

func pushOption(option string) optionKind {
	switch option {
	case "-u", "--set-upstream", "-q", "--quiet", "-v", "--verbose", "-n", "--dry-run", "--tags", "--follow-tags", "--no-follow-tags",
		"--all", "--branches", "--porcelain", "--progress", "--no-progress", "--no-verify", "--verify", "--atomic", "--no-atomic",
		"--thin", "--no-thin", "-4", "--ipv4", "-6", "--ipv6", "--no-signed", "--no-recurse-submodules",
		"-f", "--force", "--no-force", "--force-if-includes", "--no-force-if-includes", "--no-force-with-lease", "-d", "--delete",
		"--mirror", "--prune":
		return optionFlag
	case "--force-with-lease":
		return optionOptional
	case "-o", "--push-option":
		return optionValue
	}
	return optionUnknown
}

// isPlainRemote reports whether the first argument of a push is the name of a remote or a network address: a
// path would run the hooks there, and other schemes run a helper program.
func isPlainRemote(w word) bool {
	switch {
	case w.vague, w.tilde, w.text == "", strings.HasPrefix(w.text, "-"), strings.Contains(w.text, "::"):
		return false
	case strings.Contains(w.text, "://"):
		u, err := url.Parse(w.text)
		return err == nil && slices.Contains([]string{"https", "http", "ssh", "git"}, u.Scheme) && !strings.HasPrefix(u.Host, "-") && u.Host != ""
	}
	host, _, isAddress := strings.Cut(w.text, ":")
	if isAddress { // user@host:path
		_, host, _ = strings.Cut("@"+host, "@")
		return len(host) > 1 && !strings.ContainsAny(host, `/\`) && !strings.HasPrefix(host, "-") && !strings.Contains(host, "@-")
	}
	return !strings.ContainsAny(w.text, `/\`) && !strings.HasPrefix(w.text, ".")
}

package permission

import (
	"net/url"
	"slices"
	"strings"
)

// optionKind says what stands behind an option.
type optionKind int

const (
	optionUnknown  optionKind = iota
	optionFlag                // nothing
	optionOptional            // perhaps a value, as "--option=value" or "-ovalue"
	optionValue               // a value, perhaps as the next word
	optionFile                // the same, of a file that is read
)

// arguments are those of a subcommand of which all options are known.
type arguments struct {
	words []word // that are no options
	files []word // that options name, to be read
}

// readArguments reads the arguments of a subcommand. Not ok if an option is not
// known, or a word may become one. Shortened options are not known.
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

// option reads an option with its value, which may be the next word, and returns
// what stands behind.
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

// option reads an option, or several letters that stand together: the last tells
// the kind. Given says that its value stands in the same word.
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

// commitOption and pushOption know the options with which git runs nothing but
// itself, and what the repository and its user have set up: hooks, an editor, a
// signature.
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

// isPlainRemote says whether the first argument of a push is the name of a remote
// or an address of the network: a path runs the hooks that lie there, and other
// schemes a program of their own.
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

package permission

import (
	"slices"
	"strings"
)

// isPlainTar reports whether tar only packs and unpacks: it has only single-letter options and known long
// ones.
func isPlainTar(args []word) bool {
	return len(args) > 0 && !slices.ContainsFunc(args[1:], func(w word) bool { return !isPlainTarArgument(w) }) &&
		(isTarLetters(args[0].text) && !args[0].vague || strings.HasPrefix(args[0].text, "-") && isPlainTarArgument(args[0]))
}

func isPlainTarArgument(w word) bool {
	name, _, _ := strings.Cut(w.text, "=")
	switch {
	case w.vague, strings.Contains(w.text, ":"): // an archive on another host
		return false
	case !strings.HasPrefix(w.text, "-"):
		return true
	}
	switch name {
	case "--create", "--extract", "--list", "--verbose", "--gzip", "--bzip2", "--xz", "--zstd", "--file", "--directory",
		"--exclude", "--strip-components", "--wildcards", "--no-same-owner", "--no-same-permissions":
		return true
	}
	return isTarLetters(w.text[1:])
}

func isTarLetters(letters string) bool { return strings.Trim(letters, "cxtvzjJkpmhPfC") == "" }

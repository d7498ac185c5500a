package permission

import (
	"slices"
	"strings"
)

// isHarmless reports whether an assignment can only change data, not the programs or libraries that are used.
// ours means that it is a variable of the shell, not of a command's environment; then lower-case names have no
// effect.
func (a assign) isHarmless(ours bool) bool {
	switch {
	case isData(a.name), ours && isPlainVariable(a.name):
		return true
	case slices.Contains([]string{"PAGER", "EDITOR", "VISUAL", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"}, a.name):
		return !a.value.vague && slices.Contains([]string{"", "cat", "true", ":"}, a.value.text)
	}
	return false
}

// isPlainVariable reports whether a variable is used only by the script itself.
func isPlainVariable(name string) bool {
	return isIdentifier(name) && (len(name) == 1 || name == strings.ToLower(name) && strings.Trim(name, "_") != "")
}

// isIdentifier reports whether a text is the name of a variable, and not an element of an array, whose index the
// shell evaluates.
func isIdentifier(text string) bool {
	return text != "" && strings.Trim(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// isData reports whether an environment variable is known to select neither programs nor libraries.
func isData(name string) bool {
	switch name {
	case "LANG", "LANGUAGE", "TZ", "TERM", "COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI",
		"DEBUG", "VERBOSE", "DEBIAN_FRONTEND", "SOURCE_DATE_EPOCH",
		"GOOS", "GOARCH", "GOARM", "GOAMD64", "GO111MODULE", "GOMAXPROCS", "GOGC", "GOMEMLIMIT", "GOTRACEBACK", "CGO_ENABLED",
		"NODE_ENV", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE", "PYTHONHASHSEED", "RUST_BACKTRACE", "RUST_LOG",
		"GIT_TERMINAL_PROMPT", "GIT_OPTIONAL_LOCKS", "GIT_MERGE_AUTOEDIT", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE",
		"GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "GIT_COMMITTER_DATE":
		return true
	}
	return strings.HasPrefix(name, "LC_") && isIdentifier(name)
}

package permission

import (
	"slices"
	"strings"
)

// isHarmless says whether an assignment changes data at most, and not which
// programs or libraries are used. Ours says that it is for the shell alone, and
// not for the environment of a command: of such the lower-case names steer
// nothing.
func (a assign) isHarmless(ours bool) bool {
	switch {
	case isData(a.name), ours && isPlainVariable(a.name):
		return true
	case slices.Contains([]string{"PAGER", "EDITOR", "VISUAL", "GIT_PAGER", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR"}, a.name):
		return !a.value.vague && slices.Contains([]string{"", "cat", "true", ":"}, a.value.text)
	}
	return false
}

// isPlainVariable says whether a variable of the shell is nobody else's.
func isPlainVariable(name string) bool {
	return name != "" && (len(name) == 1 || name == strings.ToLower(name) && strings.Trim(name, "_") != "")
}

// isData says whether a variable of the environment is known to select neither
// programs nor libraries.
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
	return strings.HasPrefix(name, "LC_")
}

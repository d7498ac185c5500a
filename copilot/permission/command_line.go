package permission

import (
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// CommandLine returns a program and its arguments as a command line, in which a shell finds the same words. A line that is given to a shell
// as an argument ("sh", "-c", line) is returned as it is.
func CommandLine(words []string) string {
	shells := []string{"sh", "bash", "zsh", "dash"}
	if len(words) == 3 && (words[1] == "-c" || words[1] == "-lc") && slices.Contains(shells, filepath.Base(words[0])) {
		return words[2]
	}
	quoted := make([]string, 0, len(words))
	for _, w := range words {
		q, err := syntax.Quote(w, syntax.LangBash)
		if err != nil { // it has bytes that no shell can pass on
			q = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		quoted = append(quoted, q)
	}
	return strings.Join(quoted, " ")
}

package render

import (
	"html"
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2/lexers"
)

// Lines renders lines of a file with syntax colors, each on its own. The language is found by the name of the file; it may be unknown.
// The lines have no ends.
func Lines(lines []string, file string) []string {
	if len(lines) == 0 {
		return nil
	}
	text := clean(strings.ReplaceAll(strings.Join(lines, "\n"), "\r", "␍")) // a return alone would begin a line
	out := html.EscapeString(text)
	if colored, ok := colorFile(text, file); ok {
		out = colored
	}
	rendered := strings.Split(safe(out), "\n")
	if len(rendered) != len(lines) { // cannot happen: a line contains no newline, and nothing adds one
		return nil
	}
	return rendered
}

// colorFile colors a text so that no span goes over the end of a line.
func colorFile(text, file string) (string, bool) {
	if file == "" || len(file) > maxURL || !colorable(text) {
		return "", false
	}
	lexer := lexers.Match(path.Base(file))
	if lexer == nil {
		return "", false
	}
	return highlight(text, lexer, true)
}

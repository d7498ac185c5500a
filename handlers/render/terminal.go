package render

import (
	"html"
	"strings"

	terminal "github.com/buildkite/terminal-to-html/v3"
)

// The size of the terminal. The cursor cannot reach text above the window, as on a real
// terminal.
const (
	columns = 160
	window  = 100
)

// Terminal renders the output of a program as a terminal shows it: colors become classes,
// carriage returns and cursor movements overwrite. It shows the last lines; 0 means all, up
// to 2,000 lines of the last 512 KB, with a note about omitted text.
func Terminal(text string, lines int) string {
	kept := screenInput(text, lines)
	screen, err := terminal.NewScreen(terminal.WithMaxSize(columns, maxScreen), terminal.WithSize(columns, window))
	if err != nil {
		return plain(kept)
	}
	_, _ = screen.Write(sanitize(kept)) // never fails
	out := screen.AsHTML()
	if len(out) > maxHTML/2 { // every character has its own style
		out = html.EscapeString(screen.AsPlainText())
	}
	out = safe(`<pre class="terminal"><code>` + lastLines(out, lines) + "</code></pre>\n")
	return omittedNote(len(text)-len(kept), screen.LinesScrolledOut, lines) + out
}

// omittedNote returns a note about omitted text if all lines were requested.
func omittedNote(bytes, rows, lines int) string {
	switch {
	case lines > 0:
	case bytes > 0:
		return omission("The first %s are omitted.", size(bytes))
	case rows > 0:
		return omission("The first %d lines are omitted.", rows)
	}
	return ""
}

// screenInput returns the part of a text that the screen needs, from the start of a line if
// possible. A few lines need less, which makes live output cheap.
func screenInput(text string, lines int) string {
	limit := maxTerminal
	if lines > 0 {
		limit = min(limit, (lines+window)*columns*4)
	}
	if len(text) <= limit {
		return text
	}
	text = text[len(text)-limit:]
	if at := strings.IndexByte(text, '\n'); at >= 0 && at < limit/2 {
		return text[at+1:]
	}
	return text
}

// lastLines returns the last lines of HTML in which every line is balanced.
func lastLines(text string, lines int) string {
	text = strings.TrimSuffix(text, "\n")
	at := len(text)
	for ; lines > 0 && at >= 0; lines-- {
		at = strings.LastIndexByte(text[:at], '\n')
		if lines == 1 {
			return text[at+1:]
		}
	}
	return text
}

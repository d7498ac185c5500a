package render

import (
	"html"
	"strings"

	terminal "github.com/buildkite/terminal-to-html/v3"
)

// The terminal that output is shown on. What is written before a window of this height is
// out of the cursor's reach, as it is on a real one.
const (
	columns = 160
	window  = 100
)

// Terminal shows what a program has written as a terminal would: colours are classes,
// carriage returns and movements of the cursor overwrite. Only the last lines are shown; 0
// is all, up to 2,000 lines of the last 512 KB, with a note of what is left out.
func Terminal(text string, lines int) string {
	kept := last(text, lines)
	screen, err := terminal.NewScreen(terminal.WithMaxSize(columns, maxScreen), terminal.WithSize(columns, window))
	if err != nil {
		return plain(kept)
	}
	_, _ = screen.Write(sequences(kept)) // it never fails
	out := screen.AsHTML()
	if len(out) > maxHTML/2 { // each character in a style of its own
		out = html.EscapeString(screen.AsPlainText())
	}
	out = safe(`<pre class="terminal"><code>` + lastLines(out, lines) + "</code></pre>\n")
	return missing(len(text)-len(kept), screen.LinesScrolledOut, lines) + out
}

// missing notes what is left out, unless no more than some lines were asked for.
func missing(bytes, rows, lines int) string {
	switch {
	case lines > 0:
	case bytes > 0:
		return omission("The first %s are left out.", size(bytes))
	case rows > 0:
		return omission("The first %d lines are left out.", rows)
	}
	return ""
}

// last returns the part of a text that the screen is made from, beginning with a line if it
// can. For a few lines less is enough, which makes showing what is going on cheap.
func last(text string, lines int) string {
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

// lastLines returns the last lines of HTML, of which each closes what it has opened.
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

// Package plain removes control sequences from text shown to people: the output of a model or a command must not move
// the cursor of a terminal, ring its bell, set its title, or reverse text. Every dialect that shows text to people uses
// it.
package plain

import (
	"regexp"
	"strings"
	"unicode"
)

// Text removes control characters except line breaks and tabs, and characters that change the writing direction.
func Text(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return -1
		}
		return r
	}, s)
}

// Line returns a text on one line of at most most characters. A truncated text ends with an ellipsis.
func Line(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

func isControl(r rune) bool {
	if ' ' <= r && r <= '~' { // most of them, for which the tables take long
		return false
	}
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// terminal matches sequences that color a terminal's text or move its cursor. A sequence without an end ends with its
// line.
var terminal = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]`)

// StripAll is [Text] for places other than a terminal: it removes whole sequences and normalizes line endings.
func StripAll(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	s = terminal.ReplaceAllString(s, "")
	return Text(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
}

// color matches the only sequences that [Output] keeps.
var color = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// Output is [Text] for the output of a command: it keeps colors and carriage returns.
func Output(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for _, at := range color.FindAllStringIndex(s, -1) {
		b.WriteString(returned(s[from:at[0]]))
		b.WriteString(s[at[0]:at[1]])
		from = at[1]
	}
	b.WriteString(returned(s[from:]))
	return b.String()
}

func returned(s string) string {
	lines := strings.Split(s, "\r")
	for i, l := range lines {
		lines[i] = Text(l)
	}
	return strings.Join(lines, "\r")
}

// Cut returns a text as valid UTF-8 of at most most characters. A truncated text ends with an ellipsis.
func Cut(s string, most int) string {
	s = strings.ToValidUTF8(s, "")
	if runes := []rune(s); len(runes) > most {
		return strings.TrimRight(string(runes[:most-1]), " ") + "…"
	}
	return s
}

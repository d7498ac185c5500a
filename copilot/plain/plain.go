// Package plain takes control sequences out of what is shown to people: what a
// model writes, or a command prints, must not move the cursor of somebody's
// terminal, ring its bell, set its title, or turn an address around. Every dialect
// that tells people something sends it through here.
package plain

import (
	"regexp"
	"strings"
	"unicode"
)

// Text leaves out control characters but line ends and tabs, and those that turn
// the direction of writing.
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

// Line makes one line of a text, of at most so many characters: what is cut off ends with an ellipsis.
func Line(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r)
}

// terminal are the sequences that colour a terminal's text or move its cursor. One without an end ends with its line.
var terminal = regexp.MustCompile(`\x1b\[[0-?]*[ -/]*[@-~]|\x1b\][^\x07\x1b\r\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]`)

// StripAll is [Text] for what is kept or shown where there is no terminal: sequences go
// as a whole, and every line ends as others do.
func StripAll(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	s = terminal.ReplaceAllString(s, "")
	return Text(strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n"))
}

// colour is the one kind of sequence that output keeps.
var colour = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

// Output is [Text] for what a command has printed: colours stay, and so do carriage
// returns.
func Output(s string) string {
	if strings.IndexFunc(s, isControl) < 0 {
		return s
	}
	var b strings.Builder
	from := 0
	for _, at := range colour.FindAllStringIndex(s, -1) {
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

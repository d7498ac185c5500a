package render

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSequence is how long the parameters of one control sequence may be.
const maxSequence = 64

// sanitize returns terminal output reduced to text, colors, cursor movements, erasing, and
// links that [address] allows. Other sequences (titles, images, queries, settings) are
// removed, parameters are bounded, and sequences that the screen does not support are
// replaced by supported ones.
func sanitize(text string) []byte {
	a := ansi{rest: text, out: make([]byte, 0, len(text)+16)}
	for a.rest != "" {
		a.next()
	}
	return a.out
}

type ansi struct {
	rest  string
	out   []byte
	at    cursor
	saved cursor
}

func (a *ansi) next() {
	r, width := utf8.DecodeRuneInString(a.rest)
	switch {
	case r == '\x1b':
		a.rest = a.rest[1:]
		a.escape()
		return
	case r == '\n':
		a.at.newLine()
		a.out = append(a.out, '\n')
	case r == '\r':
		a.at.x = 0
		a.out = append(a.out, '\r')
	case r == '\b':
		a.at.x = max(a.at.x-1, 0)
		a.out = append(a.out, '\b')
	case r == '\t':
		a.write(strings.Repeat(" ", 8-a.at.x%8))
	case isControl(r):
	default:
		a.write(clean(a.rest[:width]))
	}
	a.rest = a.rest[width:]
}

func (a *ansi) write(text string) {
	for range text {
		a.at.advance()
	}
	a.out = append(a.out, text...)
}

// escape reads the sequence after an ESC.
func (a *ansi) escape() {
	if a.rest == "" || a.rest[0] < ' ' || a.rest[0] >= 0x7f {
		return
	}
	kind := a.rest[0]
	a.rest = a.rest[1:]
	switch kind {
	case '[':
		a.controlSequence()
	case ']':
		a.osCommand()
	case 'P', '_', '^', 'X':
		a.stringArgument()
	case '7', '8', 'M':
		a.moveCursor(kind)
	case '(', ')', '*', '+', '#', '%', ' ':
		_, width := utf8.DecodeRuneInString(a.rest) // the name of a character set
		a.rest = a.rest[width:]
	}
}

// moveCursor saves, restores or moves the cursor.
func (a *ansi) moveCursor(kind byte) {
	switch kind {
	case '7':
		a.saved = a.at
	case '8':
		a.at = cursor{a.saved.x, a.saved.y, a.at.bottom}
	case 'M':
		a.at.move('A', "1")
	}
	a.out = append(a.out, '\x1b', kind)
}

// controlSequence reads a control sequence and writes its supported equivalent.
func (a *ansi) controlSequence() {
	params, final := a.sequence()
	if len(params) > maxSequence || strings.Trim(params, "0123456789;:") != "" {
		return
	}
	out := ""
	switch {
	case final == 'm':
		if out = strings.Join(styles(params), ";"); out != "" {
			out += "m"
		}
	case final == 'J' || final == 'K':
		out = clampParams(params) + string(final)
	case final >= 'A' && final <= 'H':
		out = a.at.move(final, clampParams(params))
	}
	if out != "" {
		a.out = append(a.out, "\x1b["+out...)
	}
}

// sequence reads the parameters and the final byte of a sequence; 0 if it has none.
func (a *ansi) sequence() (params string, final byte) {
	end := 0
	for end < len(a.rest) && a.rest[end] >= ' ' && a.rest[end] < '@' {
		end++
	}
	params, a.rest = a.rest[:end], a.rest[end:]
	if a.rest != "" && a.rest[0] >= '@' && a.rest[0] < 0x7f {
		final = a.rest[0]
		a.rest = a.rest[1:]
	}
	return params, final
}

// clampParams limits two parameters to the size of the screen.
func clampParams(params string) string {
	parts := strings.Split(params, ";")
	for i, part := range parts {
		if n, err := strconv.Atoi(part); part != "" && (err != nil || n > columns) {
			parts[i] = strconv.Itoa(columns)
		}
	}
	return strings.Join(parts[:min(len(parts), 2)], ";")
}

// osCommand reads an operating system command. Only links are supported.
func (a *ansi) osCommand() {
	command := a.stringArgument()
	link, ok := strings.CutPrefix(command, "8;")
	if !ok {
		return
	}
	_, to, _ := strings.Cut(link, ";")
	href, ok := address(to)
	if !ok || strings.Contains(href, ";") {
		href = "" // the end of a link
	}
	a.out = append(a.out, "\x1b]8;;"+href+"\a"...)
}

// stringArgument reads up to the terminator of a string and consumes it. An unterminated string
// ends with its line, so that a program that was stopped does not swallow the rest.
func (a *ansi) stringArgument() string {
	for i := range len(a.rest) {
		switch a.rest[i] {
		case '\a', '\n':
			text := a.rest[:i]
			a.rest = strings.TrimPrefix(a.rest[i:], "\a")
			return text
		case '\x1b':
			text := a.rest[:i]
			a.rest = strings.TrimPrefix(a.rest[i:], "\x1b\\")
			return text
		}
	}
	text := a.rest
	a.rest = ""
	return text
}

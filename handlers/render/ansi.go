package render

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSequence is how long the parameters of one control sequence may be.
const maxSequence = 64

// sequences returns terminal output with nothing left in it but text, colours, movements
// of the cursor, erasing, and links to addresses that [address] allows. The rest (titles,
// images, queries, settings) does nothing, and what a sequence says is bounded. What the
// screen underneath would not understand is told in words that it does.
func sequences(text string) []byte {
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

// escape reads what stands behind an ESC.
func (a *ansi) escape() {
	if a.rest == "" || a.rest[0] < ' ' || a.rest[0] >= 0x7f {
		return
	}
	kind := a.rest[0]
	a.rest = a.rest[1:]
	switch kind {
	case '[':
		a.control()
	case ']':
		a.system()
	case 'P', '_', '^', 'X':
		a.until()
	case '7', '8', 'M':
		a.moveCursor(kind)
	case '(', ')', '*', '+', '#', '%', ' ':
		_, width := utf8.DecodeRuneInString(a.rest) // a set of characters
		a.rest = a.rest[width:]
	}
}

// moveCursor remembers where the cursor is, or moves it.
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

// control reads a sequence that ends with a letter, and goes on with what it means.
func (a *ansi) control() {
	params, final := a.sequence()
	if len(params) > maxSequence || strings.Trim(params, "0123456789;:") != "" {
		return
	}
	told := ""
	switch {
	case final == 'm':
		if told = strings.Join(styles(params), ";"); told != "" {
			told += "m"
		}
	case final == 'J' || final == 'K':
		told = bounded(params) + string(final)
	case final >= 'A' && final <= 'H':
		told = a.at.move(final, bounded(params))
	}
	if told != "" {
		a.out = append(a.out, "\x1b["+told...)
	}
}

// sequence reads parameters and the letter behind them, which is 0 if there is none.
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

// bounded returns parameters of which none is larger than a screen.
func bounded(params string) string {
	parts := strings.Split(params, ";")
	for i, part := range parts {
		if n, err := strconv.Atoi(part); part != "" && (err != nil || n > columns) {
			parts[i] = strconv.Itoa(columns)
		}
	}
	return strings.Join(parts[:min(len(parts), 2)], ";")
}

// system reads an operating system command. Only a link means something.
func (a *ansi) system() {
	command := a.until()
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

// until reads up to what ends a string, which is not part of it. One that does not end
// goes up to the end of its line, or a program that was cut off would swallow all.
func (a *ansi) until() string {
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

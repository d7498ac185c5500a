package render

import "strings"

// lines is the state of an incomplete block that decides whether the next line belongs to
// it. It follows CommonMark. Where a decision needs more than one line, it joins blocks and
// never divides them.
type lines struct {
	any    bool // whether there was a non-blank line
	blank  bool // whether the last line was blank
	offset int  // column of the content of list items; 0: not a list
}

// begins reports whether a line starts another block, which completes the previous one. A
// long list is divided.
func (l *lines) begins(line string, long bool) bool {
	indent, isBlank := indentation(line)
	switch {
	case isBlank || !l.any || indent > 3 || l.offset > 0 && indent >= l.offset:
		return false
	case l.offset > 0 && marker(line) > 0:
		return long
	}
	return l.blank
}

func (l *lines) read(line string) {
	indent, isBlank := indentation(line)
	l.blank = isBlank
	if isBlank {
		return
	}
	l.any = true
	if indent <= 3 && (l.offset == 0 || indent < l.offset) {
		if offset := marker(line); offset > 0 {
			l.offset = offset
		}
	}
}

// fence returns the code block that a line opens outside of lists and quotes, or nil.
func (l *lines) fence(line string) *fence {
	indent, _ := indentation(line)
	if indent > 3 || l.offset > 0 && indent >= l.offset {
		return nil
	}
	return newFence(line, indent)
}

// indentation returns the column of the first non-blank character, and whether there is
// none.
func indentation(line string) (column int, blank bool) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			column++
		case '\t':
			column += 4 - column%4
		case '\n', '\r':
		default:
			return column, false
		}
	}
	return column, true
}

// marker returns the column of the content of the list item that a line starts, or 0.
func marker(line string) int {
	column, _ := indentation(line)
	text := strings.TrimLeft(line, " \t")
	width := markerWidth(text)
	if width == 0 {
		return 0
	}
	gap, isBlank := indentation(text[width:])
	switch {
	case gap == 0 && !isBlank:
		return 0
	case isBlank || gap > 4:
		gap = 1
	}
	return column + width + gap
}

// markerWidth returns the length of the list marker at the start of a text, or 0.
func markerWidth(text string) int {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	if digits > 9 || digits == len(text) {
		return 0
	}
	marks := "-*+"
	if digits > 0 {
		marks = ".)"
	}
	if strings.IndexByte(marks, text[digits]) < 0 || isRule(text) {
		return 0
	}
	return digits + 1
}

// isRule reports whether a line is a horizontal rule, not a list item.
func isRule(text string) bool {
	marks := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, text)
	return len(marks) >= 3 && strings.IndexByte("-*_", marks[0]) >= 0 && strings.Trim(marks, marks[:1]) == ""
}

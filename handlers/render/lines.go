package render

import "strings"

// lines knows, of the block that is not complete, what decides whether the next line
// belongs to it. It goes by the rules of CommonMark, and where these take more than a look
// at one line it takes blocks together, never apart.
type lines struct {
	any    bool // there was a line that is not blank
	blank  bool // the last line was
	offset int  // column where the contents of a list's items begin; 0 is no list
}

// begins says whether a line begins another block, so that the one before is complete. A
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

// fence returns the code block that a line opens outside of lists and quotes.
func (l *lines) fence(line string) *fence {
	indent, _ := indentation(line)
	if indent > 3 || l.offset > 0 && indent >= l.offset {
		return nil
	}
	return newFence(line, indent)
}

// indentation returns the column of the first character, and whether there is none.
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

// marker returns the column where the contents of a list's item begin, or 0 if the line
// begins none.
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

// markerWidth returns how long the marker is that a text begins with.
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

// isRule says whether a line is a horizontal rule rather than an item.
func isRule(text string) bool {
	marks := strings.Map(func(r rune) rune {
		if strings.ContainsRune(" \t\r\n", r) {
			return -1
		}
		return r
	}, text)
	return len(marks) >= 3 && strings.IndexByte("-*_", marks[0]) >= 0 && strings.Trim(marks, marks[:1]) == ""
}

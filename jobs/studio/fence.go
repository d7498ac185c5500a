package studio

import "strings"

// mark begins the lines that begin and end a block of code.
const mark = "```"

// fence lets through what stands in the first block of an answer that still comes in pieces, or what stands before it.
type fence struct {
	before bool   // that is wanted
	word   string // that stands behind the mark which begins the block; "": any or none
	line   string // the beginning of a line, which may be a fence
	midway bool   // in the middle of a line that is none
	inside bool
	over   bool
}

// feed takes a piece and gives what is certain by now.
func (f *fence) feed(piece string) string {
	var out strings.Builder
	for len(piece) > 0 && !f.over {
		n := strings.IndexByte(piece, '\n') + 1
		if n == 0 {
			n = len(piece)
		}
		out.WriteString(f.part(piece[:n]))
		piece = piece[n:]
	}
	return out.String()
}

// part takes a piece of one line.
func (f *fence) part(s string) string {
	whole := strings.HasSuffix(s, "\n")
	switch {
	case f.midway:
		f.midway = !whole
		return f.shown(s)
	case f.undecided(f.line + s):
		f.line += s
		return ""
	}
	line := f.line + s
	f.line = ""
	if f.isFence(line) {
		f.over = f.inside || f.before
		f.inside = !f.inside
		return ""
	}
	f.midway = !whole
	return f.shown(line)
}

// undecided says whether the beginning of a line may still turn out to be a fence.
func (f *fence) undecided(line string) bool {
	if strings.HasSuffix(line, "\n") {
		return false
	}
	start := strings.TrimLeft(line, " ")
	return strings.HasPrefix(start, f.opening()) || strings.HasPrefix(f.opening(), start)
}

// isFence says whether a line begins the block, or ends it.
func (f *fence) isFence(line string) bool {
	line = strings.TrimSpace(line)
	if f.inside {
		return strings.Trim(line, "`") == "" && len(line) >= len(mark)
	}
	return strings.HasPrefix(line, f.opening())
}

func (f *fence) opening() string {
	if f.inside {
		return mark
	}
	return mark + f.word
}

func (f *fence) shown(s string) string {
	if f.inside == f.before {
		return ""
	}
	return s
}

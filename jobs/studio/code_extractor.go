package studio

import (
	"slices"
	"strings"
)

// mark begins the lines that begin and end a block of code.
const mark = "```"

// codeExtractor lets through what stands in the first block of code of an answer that still comes in pieces, or what stands before it.
// Ends of lines are made \n.
type codeExtractor struct {
	before bool   // that is wanted
	word   string // that stands behind the mark which begins the block; "": any but those that are no code, or none
	held   string // may be half of the end of a line
	line   string // the beginning of a line, which may be a fence
	midway bool   // in the middle of a line that is none
	opened string // the marks that began the block
	over   bool
}

// write takes a piece and gives what is certain by now.
func (f *codeExtractor) write(piece string) string {
	piece = strings.ReplaceAll(f.held+piece, "\r\n", "\n")
	whole := strings.TrimSuffix(piece, "\r")
	piece, f.held = whole, piece[len(whole):]
	var out strings.Builder
	for line := range strings.Lines(piece) {
		if f.over {
			break
		}
		out.WriteString(f.part(line))
	}
	return out.String()
}

// part takes a piece of one line.
func (f *codeExtractor) part(s string) string {
	whole := strings.HasSuffix(s, "\n")
	switch {
	case f.midway:
		f.midway = !whole
		return f.shown(s)
	case !whole && f.undecided(f.line+s):
		f.line += s
		return ""
	}
	line := f.line + s
	f.line = ""
	if f.isFence(line) {
		f.crossFence(line)
		return ""
	}
	f.midway = !whole
	return f.shown(line)
}

// undecided says whether the beginning of a line may still turn out to be a fence.
func (f *codeExtractor) undecided(line string) bool {
	start := strings.TrimLeft(line, " \t")
	return strings.HasPrefix(start, f.opening()) || strings.HasPrefix(f.opening(), start)
}

// isFence says whether a line begins the block, or ends it.
func (f *codeExtractor) isFence(line string) bool {
	line = strings.TrimSpace(line)
	if f.opened != "" {
		return strings.Trim(line, "`") == "" && len(line) >= len(f.opened)
	}
	marks, rest := cutMarks(line)
	return strings.HasPrefix(line, f.opening()) && len(marks) >= len(mark) && !strings.Contains(rest, "`")
}

// crossFence goes in at a fence, or is done.
func (f *codeExtractor) crossFence(line string) {
	marks, word := cutMarks(strings.TrimSpace(line))
	f.over = f.opened != "" || f.before || slices.Contains([]string{"question", "refusal"}, strings.TrimSpace(word))
	f.opened = marks
}

func cutMarks(line string) (marks, rest string) {
	rest = strings.TrimLeft(line, "`")
	return line[:len(line)-len(rest)], rest
}

func (f *codeExtractor) opening() string {
	if f.opened != "" {
		return f.opened
	}
	return mark + f.word
}

func (f *codeExtractor) shown(s string) string {
	if (f.opened == "") != f.before {
		return ""
	}
	return s
}

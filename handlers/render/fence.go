package render

import (
	"html"
	"math/bits"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// fence is a code block that has begun.
type fence struct {
	mark   string // of at least three
	indent int
	named  string
	class  string
	lexer  chroma.Lexer
	lines  int // that are complete, since it began or was divided

	coloured struct { // the beginning of the code, in colours
		lines int
		html  string
	}
}

func newFence(line string, indent int) *fence {
	text := strings.TrimLeft(line, " \t")
	info := strings.TrimLeft(text, text[:min(len(text), 1)])
	mark := text[:len(text)-len(info)]
	if len(mark) < 3 || mark[0] != '`' && mark[0] != '~' || mark[0] == '`' && strings.Contains(info, "`") {
		return nil
	}
	named, _, _ := strings.Cut(strings.TrimSpace(info), " ")
	return &fence{mark: mark, indent: indent, named: named, class: "code", lexer: find(named)}
}

// isEnd says whether a line ends the code.
func (f *fence) isEnd(line string) bool {
	indent, _ := indentation(line)
	text := strings.TrimSpace(line)
	return indent <= 3 && len(text) >= len(f.mark) && strings.Trim(text, f.mark[:1]) == ""
}

// restart begins another block, since the one before has been appended.
func (f *fence) restart() {
	*f = fence{mark: f.mark, indent: f.indent, named: f.named, class: "code continued", lexer: f.lexer}
}

// whole shows all of a block.
func (f *fence) whole(code string) string {
	return safe(block(clean(f.dedent(code)), f.named, f.class, f.lexer))
}

// part shows a block that goes on. To colour it again with every line would take time with
// the square of its length, so colours follow at a distance: the more lines there are, the
// more come before they are coloured together. How many is decided by the code alone.
func (f *fence) part(code string) string {
	far := f.lines
	if far > 16 {
		step := 1 << (bits.Len(uint(far)) - 3)
		far -= far % step
	}
	if f.coloured.html == "" || far != f.coloured.lines {
		var b strings.Builder
		colour(&b, clean(f.dedent(first(code, far))), f.lexer)
		f.coloured.lines, f.coloured.html = far, safe(b.String())
	}
	var b strings.Builder
	open(&b, f.named, f.class)
	b.WriteString(f.coloured.html)
	b.WriteString(html.EscapeString(clean(f.dedent(code[len(first(code, far)):]))))
	return b.String() + "</code></pre>\n"
}

// first returns the first lines of a text.
func first(text string, lines int) string {
	end := 0
	for ; lines > 0; lines-- {
		end += strings.IndexByte(text[end:], '\n') + 1
	}
	return text[:end]
}

// dedent takes as many blanks from each line as stand before the fence.
func (f *fence) dedent(code string) string {
	if f.indent == 0 {
		return code
	}
	var b strings.Builder
	for line := range strings.Lines(code) {
		for i := 0; i < f.indent && strings.HasPrefix(line, " "); i++ {
			line = line[1:]
		}
		b.WriteString(line)
	}
	return b.String()
}

package render

import (
	"html"
	"math/bits"
	"strings"

	"github.com/alecthomas/chroma/v2"
)

// fence is an open code block.
type fence struct {
	mark   string // at least three backticks or tildes
	indent int
	named  string
	class  string
	lexer  chroma.Lexer
	lines  int // complete ones since the start or the last division

	colored struct { // the colored start of the code
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
	return &fence{mark: mark, indent: indent, named: named, class: "code", lexer: findLexer(named)}
}

// isEnd reports whether a line ends the code.
func (f *fence) isEnd(line string) bool {
	indent, _ := indentation(line)
	text := strings.TrimSpace(line)
	return indent <= 3 && len(text) >= len(f.mark) && strings.Trim(text, f.mark[:1]) == ""
}

// restart starts another block after the previous one was appended.
func (f *fence) restart() {
	*f = fence{mark: f.mark, indent: f.indent, named: f.named, class: "code continued", lexer: f.lexer}
}

// whole renders a complete block.
func (f *fence) whole(code string) string {
	return safe(codeBlock(clean(f.dedent(code)), f.named, f.class, f.lexer))
}

// part renders an incomplete block. Coloring it again with every line would take quadratic
// time, so colors follow with a delay that grows with the number of lines. The delay
// depends on the code alone.
func (f *fence) part(code string) string {
	lines := f.lines
	if lines > 16 {
		step := 1 << (bits.Len(uint(lines)) - 3)
		lines -= lines % step
	}
	if f.colored.html == "" || lines != f.colored.lines {
		var b strings.Builder
		color(&b, clean(f.dedent(firstLines(code, lines))), f.lexer)
		f.colored.lines, f.colored.html = lines, safe(b.String())
	}
	var b strings.Builder
	openBlock(&b, f.named, f.class)
	b.WriteString(f.colored.html)
	b.WriteString(html.EscapeString(clean(f.dedent(code[len(firstLines(code, lines)):]))))
	return b.String() + "</code></pre>\n"
}

// firstLines returns the first lines of a text.
func firstLines(text string, lines int) string {
	end := 0
	for ; lines > 0; lines-- {
		end += strings.IndexByte(text[end:], '\n') + 1
	}
	return text[:end]
}

// dedent removes the indentation of the fence from each line.
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

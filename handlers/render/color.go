package render

import (
	"html"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// maxLexing is the time to color one block, after which the rest stays uncolored. Lexers
// use regular expressions that can backtrack badly.
const maxLexing = 500 * time.Millisecond

// color writes code with spans for colored tokens.
func color(b *strings.Builder, text string, lexer chroma.Lexer) {
	if lexer != nil && colorable(text) {
		if colored, ok := highlight(text, lexer, false); ok {
			b.WriteString(colored)
			return
		}
	}
	b.WriteString(html.EscapeString(text))
}

func colorable(text string) bool {
	if len(text) > maxColored {
		return false
	}
	for line := range strings.Lines(text) {
		if len(line) > maxCodeLine {
			return false
		}
	}
	return true
}

// highlight colors a text; byLine keeps spans from going over the ends of lines. It fails if the lexer fails, panics or changes the text.
func highlight(text string, lexer chroma.Lexer, byLine bool) (colored string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	next, err := lexer.Tokenise(nil, text)
	if err != nil {
		return "", false
	}
	w, start := spans{byLine: byLine}, time.Now()
	rest := text
	for token := next(); token != chroma.EOF; token = next() {
		if !strings.HasPrefix(rest, token.Value) {
			return "", false
		}
		rest = rest[len(token.Value):]
		w.write(colorOf(token.Type), token.Value)
		if time.Since(start) > maxLexing {
			break
		}
	}
	w.write("", rest)
	return w.end(), true
}

// spans writes colored text with as few spans as possible.
type spans struct {
	out    strings.Builder
	class  string
	byLine bool // each span ends with its line
}

func (s *spans) write(class, text string) {
	line, rest, more := text, "", false
	if s.byLine {
		line, rest, more = strings.Cut(text, "\n")
	}
	s.part(class, line)
	if more {
		s.end()
		s.out.WriteByte('\n')
		s.write(class, rest)
	}
}

func (s *spans) part(class, text string) {
	if text == "" {
		return
	}
	if strings.Trim(text, " ") == "" {
		class = s.class // a space has no visible color
	}
	if class != s.class {
		s.end()
		if class != "" {
			s.out.WriteString(`<span class="hl-` + class + `">`)
		}
		s.class = class
	}
	s.out.WriteString(html.EscapeString(text))
}

func (s *spans) end() string {
	if s.class != "" {
		s.out.WriteString("</span>")
	}
	s.class = ""
	return s.out.String()
}

// colors maps token types to colors; a dozen are enough.
var colors = map[chroma.TokenType]string{ //nolint:gochecknoglobals,exhaustive // read-only; other types have the color of their category
	chroma.KeywordType: "t", chroma.NameClass: "t", chroma.NameException: "t",
	chroma.KeywordConstant: "l", chroma.NameConstant: "l", chroma.LiteralDate: "l",
	chroma.NameFunction: "f", chroma.NameFunctionMagic: "f",
	chroma.NameTag: "k", chroma.NameKeyword: "k", chroma.NameOperator: "k", chroma.OperatorWord: "k",
	chroma.NameAttribute: "a", chroma.NameDecorator: "a", chroma.NameEntity: "a", chroma.NameProperty: "a",
	chroma.GenericDeleted: "d", chroma.GenericError: "d", chroma.GenericInserted: "i",
	chroma.GenericHeading: "h", chroma.GenericSubheading: "h", chroma.GenericEmph: "e", chroma.GenericStrong: "b",
	chroma.GenericPrompt: "p", chroma.CommentPreproc: "p", chroma.CommentPreprocFile: "p",
}

func colorOf(t chroma.TokenType) string {
	if own, ok := colors[t]; ok {
		return own
	}
	switch {
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InSubCategory(chroma.NameBuiltin):
		return "t"
	case t.InSubCategory(chroma.NameVariable):
		return "v"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "l"
	case t.InCategory(chroma.Comment):
		return "c"
	}
	return ""
}

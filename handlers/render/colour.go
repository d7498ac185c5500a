package render

import (
	"html"
	"strings"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// patience is how long one block may be coloured; the rest of it has no colours. Lexers
// are made of regular expressions that can be led astray.
const patience = time.Second

// colour writes code with spans for what has a colour.
func colour(b *strings.Builder, text string, lexer chroma.Lexer) {
	if lexer != nil && colourable(text) {
		if coloured, ok := tokens(text, lexer); ok {
			b.WriteString(coloured)
			return
		}
	}
	b.WriteString(html.EscapeString(text))
}

func colourable(text string) bool {
	if len(text) > maxColoured {
		return false
	}
	for line := range strings.Lines(text) {
		if len(line) > maxCodeLine {
			return false
		}
	}
	return true
}

// tokens colours a text, unless the lexer fails or makes another text of it: some panic.
func tokens(text string, lexer chroma.Lexer) (coloured string, ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	next, err := lexer.Tokenise(nil, text)
	if err != nil {
		return "", false
	}
	w, begun := spans{}, time.Now()
	rest := text
	for token := next(); token != chroma.EOF; token = next() {
		if !strings.HasPrefix(rest, token.Value) {
			return "", false
		}
		rest = rest[len(token.Value):]
		w.write(colourOf(token.Type), token.Value)
		if time.Since(begun) > patience {
			break
		}
	}
	w.write("", rest)
	return w.end(), true
}

// spans writes text in colours, with as few spans as possible.
type spans struct {
	out   strings.Builder
	class string
}

func (s *spans) write(class, text string) {
	if text == "" {
		return
	}
	if strings.Trim(text, " ") == "" {
		class = s.class // nobody sees the colour of a blank
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

// colourOf says which colour a token has: a dozen are enough to read code by.
func colourOf(t chroma.TokenType) string {
	switch t {
	case chroma.KeywordType, chroma.NameClass, chroma.NameException:
		return "t"
	case chroma.KeywordConstant, chroma.NameConstant, chroma.LiteralDate:
		return "l"
	case chroma.NameFunction, chroma.NameFunctionMagic:
		return "f"
	case chroma.NameTag, chroma.NameKeyword, chroma.NameOperator, chroma.OperatorWord:
		return "k"
	case chroma.NameAttribute, chroma.NameDecorator, chroma.NameEntity, chroma.NameProperty:
		return "a"
	case chroma.GenericDeleted, chroma.GenericError:
		return "d"
	case chroma.GenericInserted:
		return "i"
	case chroma.GenericHeading, chroma.GenericSubheading:
		return "h"
	case chroma.GenericEmph:
		return "e"
	case chroma.GenericStrong:
		return "b"
	case chroma.GenericPrompt, chroma.CommentPreproc, chroma.CommentPreprocFile:
		return "p"
	}
	return colourOfKind(t)
}

func colourOfKind(t chroma.TokenType) string {
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

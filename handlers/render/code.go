package render

import (
	"html"
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Code renders source code with syntax colors. The language is the named one, or is found by
// the file name. Both may be unknown.
func Code(text, named, file string) string {
	text = clean(text)
	kept := cut(text, maxText)
	lexer := findLexer(named)
	if lexer == nil && file != "" && len(file) < maxURL {
		lexer = lexers.Match(path.Base(file))
	}
	if named == "" && lexer != nil {
		if aliases := lexer.Config().Aliases; len(aliases) > 0 {
			named = aliases[0]
		}
	}
	out := safe(codeBlock(kept, named, "code", lexer))
	if left := len(text) - len(kept); left > 0 {
		out += omission("%s more are omitted.", size(left))
	}
	return out
}

// findLexer returns the lexer of a language, or nil. Looking up an unknown name tries the
// patterns of all lexers, so only valid names are looked up.
func findLexer(named string) chroma.Lexer {
	if !language.MatchString(named) {
		return nil
	}
	return lexers.Get(named)
}

// codeBlock renders a block of code, with the name of its language if that is valid.
func codeBlock(text, named, class string, lexer chroma.Lexer) string {
	var b strings.Builder
	openBlock(&b, named, class)
	color(&b, text, lexer)
	b.WriteString("</code></pre>\n")
	return b.String()
}

func openBlock(b *strings.Builder, named, class string) {
	b.WriteString(`<pre class="` + class + `"`)
	if language.MatchString(named) {
		b.WriteString(` data-language="` + html.EscapeString(strings.ToLower(named)) + `"`)
	}
	b.WriteString(`><code>`)
}

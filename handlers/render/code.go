package render

import (
	"html"
	"path"
	"strings"

	"github.com/alecthomas/chroma/v2"
	"github.com/alecthomas/chroma/v2/lexers"
)

// Code shows source code in the colours of its language: the one that is named, or else the
// one that files of this name have. It may know neither.
func Code(text, named, file string) string {
	kept := cut(clean(text), maxText)
	lexer := find(named)
	if lexer == nil && file != "" && len(file) < maxURL {
		lexer = lexers.Match(path.Base(file))
	}
	if named == "" && lexer != nil {
		named = label(lexer.Config().Aliases)
	}
	out := safe(block(kept, named, "code", lexer))
	if left := len(clean(text)) - len(kept); left > 0 {
		out += omission("%s more are left out.", size(left))
	}
	return out
}

func label(aliases []string) string {
	if len(aliases) == 0 {
		return ""
	}
	return aliases[0]
}

// find returns the lexer of a language, or nil. Looking for a name that nobody knows goes
// through the patterns of all lexers, so only what may be a name is looked for.
func find(named string) chroma.Lexer {
	if !language.MatchString(named) {
		return nil
	}
	return lexers.Get(named)
}

// block shows a block of code with the name of its language, if it can be one.
func block(text, named, class string, lexer chroma.Lexer) string {
	var b strings.Builder
	open(&b, named, class)
	colour(&b, text, lexer)
	b.WriteString("</code></pre>\n")
	return b.String()
}

func open(b *strings.Builder, named, class string) {
	b.WriteString(`<pre class="` + class + `"`)
	if language.MatchString(named) {
		b.WriteString(` data-language="` + html.EscapeString(strings.ToLower(named)) + `"`)
	}
	b.WriteString(`><code>`)
}

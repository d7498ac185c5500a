package code

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// Limits of the source. Both parsers call themselves for each level of nesting, and a stack that overflows ends the process,
// so the number of tokens is bounded, too: every level needs one. Both are far above what a model writes.
const (
	maxBytes  = 2 << 20
	maxTokens = 50_000
	maxDepth  = 1000
	maxFaults = 10
)

// style is how JavaScript is written.
type style int

const (
	script  style = iota // an IIFE, to be run
	small                // in one line: the indentation of deep nesting grows with its square
	renamed              // small, and with short names, as keeping equal ones apart takes the cube of the nesting
)

// program makes plain JavaScript of JSX or TSX, and reads it. How deep it is nested is found out first, in a form that takes
// no more time for it.
func program(source string) (*js.AST, Faults) {
	var ast *js.AST
	for _, s := range []style{renamed, small} {
		plain, faults := transform(source, s)
		if faults != nil {
			return nil, faults
		}
		var err error
		if ast, err = js.Parse(parse.NewInputString(plain), js.Options{}); err != nil {
			return nil, unreadable(err)
		}
	}
	return ast, nil
}

// transform makes plain JavaScript of JSX or TSX. What is not TSX may still be JSX, and the other way round: `<T>(x) => x` and
// `a < b > (c)` are read differently. The errors are those of TSX, which knows more.
func transform(source string, s style) (string, Faults) {
	if faults := bounded(source); faults != nil {
		return "", faults
	}
	result := with(api.LoaderJSX, source, s)
	if len(result.Errors) > 0 {
		result = with(api.LoaderTSX, source, s)
	}
	if len(result.Errors) == 0 {
		return string(result.Code), nil
	}
	var faults Faults
	for _, m := range result.Errors[:min(len(result.Errors), maxFaults)] {
		f := Fault{Text: m.Text}
		if m.Location != nil {
			f.Line, f.Column = m.Location.Line, m.Location.Column+1
		}
		faults = append(faults, f)
	}
	return "", faults
}

func with(loader api.Loader, source string, s style) api.TransformResult {
	format := api.FormatDefault // which keeps all that is to be checked
	if s == script {
		format = api.FormatIIFE
	}
	return api.Transform(source, api.TransformOptions{
		Format: format, Loader: loader, JSX: api.JSXTransform, Target: api.ES2022, Charset: api.CharsetASCII, LogLevel: api.LogLevelSilent,
		MinifyWhitespace: s != script, MinifyIdentifiers: s == renamed,
		// An import that is not used is to be seen nevertheless.
		TsconfigRaw: `{"compilerOptions": {"verbatimModuleSyntax": true, "jsx": "react"}}`,
	})
}

// bounded counts more tokens than there are, since it knows neither strings nor comments.
func bounded(source string) Faults {
	switch {
	case len(source) > maxBytes:
		return fault("is longer than %d bytes", maxBytes)
	case !utf8.ValidString(source):
		return fault("is not UTF-8")
	case strings.TrimSpace(source) == "":
		return fault("is empty")
	}
	var c counter
	for _, r := range source {
		if c.count(r); c.depth > maxDepth || c.tokens > maxTokens {
			return fault("is too large to be checked: more than %d tokens, or nested deeper than %d", maxTokens, maxDepth)
		}
	}
	return nil
}

type counter struct {
	tokens, depth int
	inWord        bool
}

func (c *counter) count(r rune) {
	word := r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
	if !word && !unicode.IsSpace(r) || word && !c.inWord {
		c.tokens++
	}
	c.inWord = word
	switch r {
	case '(', '[', '{':
		c.depth++
	case ')', ']', '}':
		c.depth = max(0, c.depth-1)
	}
}

func unreadable(err error) Faults {
	said, _, _ := strings.Cut(err.Error(), "\n")
	if at := strings.LastIndex(said, " on line "); at > 0 {
		said = said[:at] // of the code as it was transformed, which nobody has seen
	}
	return fault("cannot be checked: %s", said)
}

package code

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/tdewolff/parse/v2"
	"github.com/tdewolff/parse/v2/js"
)

// Limits of the source, far above what a model writes. Both parsers recurse, and a stack overflow ends the process, so the
// number of tokens is limited, too: every level of nesting needs one.
const (
	maxBytes  = 2 << 20
	maxTokens = 50_000
	maxDepth  = 1000
	maxFaults = 10
)

// style is the form of generated JavaScript.
type style int

const (
	script  style = iota // an IIFE, for running
	small                // on one line: the indentation of deep nesting grows quadratically
	renamed              // small, with short names: keeping equal names distinct takes cubic time
)

// program compiles JSX or TSX to plain JavaScript and parses it. It first renames identifiers, because that fails
// fast on deep nesting.
func program(source string) (*js.AST, Faults) {
	var ast *js.AST
	for _, s := range []style{renamed, small} {
		plain, faults := transform(source, s)
		if faults != nil {
			return nil, faults
		}
		var err error
		if ast, err = js.Parse(parse.NewInputString(plain), js.Options{}); err != nil {
			message, _, _ := strings.Cut(err.Error(), "\n")
			if at := strings.LastIndex(message, " on line "); at > 0 {
				message = message[:at] // drop the line, which is that of the compiled code
			}
			return nil, fault("cannot be checked: %s", message)
		}
	}
	return ast, nil
}

// transform compiles JSX or TSX to plain JavaScript. It tries both, since `<T>(x) => x` and `a < b > (c)` mean different
// things. It returns the errors for TSX, which are more precise.
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
	format := api.FormatDefault // keeps everything that must be checked
	if s == script {
		format = api.FormatIIFE
	}
	return api.Transform(source, api.TransformOptions{
		Format: format, Loader: loader, JSX: api.JSXTransform, Target: api.ES2022, Charset: api.CharsetASCII, LogLevel: api.LogLevelSilent,
		MinifyWhitespace: s != script, MinifyIdentifiers: s == renamed,
		// Keep unused imports, so that they are found.
		TsconfigRaw: `{"compilerOptions": {"verbatimModuleSyntax": true, "jsx": "react"}}`,
	})
}

// bounded checks the limits.
func bounded(source string) Faults {
	switch {
	case len(source) > maxBytes:
		return fault("is longer than %d bytes", maxBytes)
	case !utf8.ValidString(source):
		return fault("is not UTF-8")
	case strings.TrimSpace(source) == "":
		return fault("is empty")
	}
	if tokens, depth := count(source); tokens > maxTokens || depth > maxDepth {
		return fault("is too large to be checked: more than %d tokens, or nested deeper than %d", maxTokens, maxDepth)
	}
	return nil
}

// count returns upper bounds of the number of tokens and the depth of nesting: it ignores strings and comments.
func count(source string) (tokens, deepest int) {
	inWord, depth := false, 0
	for _, r := range source {
		word := r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
		if !word && !unicode.IsSpace(r) || word && !inWord {
			tokens++
		}
		inWord = word
		switch r {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		}
		deepest = max(deepest, depth)
	}
	return tokens, deepest
}

package demo

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// A token is a word of the prompt, or an argument in backticks.
type token struct {
	kind       tokenKind
	text       string // a word as it stands, or the argument without its backticks
	start, end int    // where it stands in the prompt, backticks included
}

type tokenKind int

const (
	word   tokenKind = iota
	quoted           // an argument
	torn             // a backtick that is never closed
)

// tokenize splits a prompt into words and arguments.
func tokenize(prompt string) []token {
	var tokens []token
	for at := 0; at < len(prompt); {
		c := classify(prompt[at:])
		if c == blank {
			at += width(prompt[at:], blank)
			continue
		}
		t := token{text: prompt[at : at+width(prompt[at:], c)]}
		if c == tick {
			t = quote(prompt[at:], len(t.text))
		}
		t.start, t.end = at, at+max(t.end, len(t.text))
		tokens = append(tokens, t)
		at = t.end
	}
	return tokens
}

// quote reads the argument that n backticks open. Its end is relative to s.
func quote(s string, n int) token {
	rest := s[n:]
	if n == 2 && (rest == "" || classify(rest) == blank) {
		return token{kind: quoted, end: n}
	}
	size, ok := untilTicks(rest, n)
	if !ok {
		return token{kind: torn, end: n}
	}
	text := rest[:size]
	if info, lines, ok := strings.Cut(text, "\n"); ok && n >= 3 && !strings.Contains(strings.TrimSpace(info), " ") {
		text = lines
	}
	return token{kind: quoted, text: text, end: n + size + n}
}

// untilTicks finds the first run of exactly n backticks.
func untilTicks(s string, n int) (int, bool) {
	for at := 0; ; {
		i := strings.IndexByte(s[at:], '`')
		if i < 0 {
			return 0, false
		}
		at += i
		run := width(s[at:], tick)
		if run == n {
			return at, true
		}
		at += run
	}
}

// plain is a word without the punctuation around it, in lower case.
func (t token) plain() string {
	if t.kind != word {
		return ""
	}
	return strings.ToLower(strings.Trim(t.text, ".,;:!?()[]{}<>\"'*_"))
}

// A class tells apart what a word can consist of. Text in a script without blanks touches keywords: 次にrun `ls`.
type class int

const (
	blank class = iota
	tick
	ascii
	other
)

func classify(s string) class {
	r, _ := utf8.DecodeRuneInString(s)
	switch {
	case unicode.IsSpace(r):
		return blank
	case r == '`':
		return tick
	case r < utf8.RuneSelf:
		return ascii
	default:
		return other
	}
}

// width is the size of the run of one class at the beginning of s.
func width(s string, c class) int {
	at := 0
	for at < len(s) && classify(s[at:]) == c {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	return at
}

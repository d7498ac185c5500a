package secret

import (
	"encoding/base64"
	"strings"
)

// token is a kind of credential: a prefix and at least min bytes that are letters, digits or among extra.
type token struct {
	prefix, extra string
	min           int
}

// Bytes of tokens besides letters and digits.
const (
	inURL    = "-_"      // base64 for URLs
	dotted   = "-_."     // several of those, separated by dots
	inHeader = "-_.~+/=" // RFC 6750, section 2.1
)

// Whether a token must contain a digit. Long random text nearly always does, and few names do.
const (
	digitOptional = false
	digitRequired = true
)

// maxSearch is how far to look for a digit, and for the colon between a name and its password, in bytes.
const maxSearch = 64

// tokens returns the first match of several kinds that is not ruled out.
func tokens(text string, needsDigit bool, kinds ...token) match {
	for _, k := range kinds {
		if m := k.match(text, needsDigit); m.verdict != no {
			return m
		}
	}
	return match{}
}

func (t token) match(text string, needsDigit bool) match {
	if v := begins(text, t.prefix); v != yes {
		return match{verdict: v}
	}
	value := text[len(t.prefix):]
	n, open := run(value, t.extra, maxSearch)
	found := n >= t.min && (!needsDigit || strings.ContainsAny(value[:n], "0123456789"))
	switch {
	case n >= t.min && isPlaceholder(value[:t.min]):
		return match{}
	case found:
		return match{yes, t.prefix, len(t.prefix) + t.min, t.rest}
	case open:
		return match{verdict: maybe}
	}
	return match{}
}

// rest is the tail of a token. A dot that ends a sentence does not belong to it.
func (t token) rest(text string) (n int, continues verdict) {
	n, open := run(text, t.extra, len(text)+1)
	dot := n > 0 && text[n-1] == '.'
	switch {
	case dot && open:
		return n - 1, maybe
	case dot:
		return n - 1, no
	case open:
		return n, yes
	}
	return n, no
}

// isPlaceholder reports whether a value only shows what a credential looks like.
func isPlaceholder(value string) bool {
	value = strings.ToLower(value)
	return strings.Contains(value, "example") || strings.Contains(value, "your") || repeats(value, 5)
}

// repeats reports whether a byte occurs n times in a row.
func repeats(value string, n int) bool {
	for i, same := 1, 1; i < len(value); i++ {
		if same++; value[i] != value[i-1] {
			same = 1
		}
		if same == n {
			return true
		}
	}
	return false
}

// accessKey matches an AWS key id: exactly 16 bytes of base32.
func accessKey(text, prefix string) match {
	const size = 16
	if v := begins(text, prefix); v != yes {
		return match{verdict: v}
	}
	n, open := run(text[len(prefix):], "", size+1)
	value := text[len(prefix):][:n]
	for i := range len(value) {
		if isLower(value[i]) || isDigit(value[i]) && (value[i] < '2' || value[i] > '7') {
			return match{}
		}
	}
	switch {
	case open:
		return match{verdict: maybe}
	case n != size || isPlaceholder(value):
		return match{}
	}
	return match{yes, prefix, len(prefix) + size, nil}
}

// webToken matches a JSON Web Token: two JSON objects in base64, the header and the claims, and a signature.
func webToken(text string) match {
	const object, least, most = "eyJ", 10, 256
	if v := begins(text, object); v != yes {
		return match{verdict: v}
	}
	n, open := run(text, inURL, most)
	switch {
	case open:
		return match{verdict: maybe}
	case n < least:
		return match{}
	}
	claims := token{text[:n] + "." + object, dotted, least}
	m := claims.match(text, digitOptional)
	m.shown = object
	return m
}

// basic matches the value of Basic: a name, a colon and a password in base64.
func basic(text, prefix string) match {
	if v := begins(text, prefix); v != yes {
		return match{verdict: v}
	}
	const least, most = 8, 2 * maxSearch
	value := text[len(prefix):]
	n, open := run(value, "+/=", most)
	colon := false
	for end := 4; end <= n; end += 4 {
		plain, err := base64.StdEncoding.DecodeString(value[end-4 : end])
		if err != nil || strings.ContainsFunc(string(plain), func(r rune) bool { return r < ' ' || r > '~' }) {
			return match{}
		}
		colon = colon || strings.Contains(string(plain), ":")
		if colon && end >= least {
			return match{yes, prefix, len(prefix) + end, token{extra: "+/="}.rest}
		}
	}
	if open {
		return match{verdict: maybe}
	}
	return match{}
}

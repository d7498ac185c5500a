package secret

import "strings"

// endOfKey begins the last line of a key in PEM.
const endOfKey = "-----END"

// privateKey matches the beginning of a private key in PEM: its first line and 32 bytes of base64, at most a few header
// lines later.
func privateKey(text string) match {
	const begin, end, longestLabel, longestHead = "-----BEGIN ", "-----", 24, 192
	if v := begins(text, begin); v != yes {
		return match{verdict: v}
	}
	n, open := run(text[len(begin):], " ", longestLabel)
	if open {
		return match{verdict: maybe}
	}
	label := text[len(begin):][:n]
	if !strings.HasSuffix(strings.TrimSuffix(label, " BLOCK"), "PRIVATE KEY") {
		return match{}
	}
	line := begin + label + end
	if v := begins(text, line); v != yes {
		return match{verdict: v}
	}
	at, v := base64Within(text[len(line):], 32, longestHead)
	return match{v, line, len(line) + at, keyRest}
}

// keyRest is the tail of a private key. It ends before the last line of the key, or where the text no longer looks like
// a key, because perhaps only the first lines were printed.
func keyRest(text string) (n int, continues verdict) {
	const shortestLine, longestGap = 16, 64
	for n < len(text) {
		if !isBase64(text[n]) {
			at, v := base64Within(text[n:], shortestLine, longestGap)
			if v == maybe || v == no && at == 0 {
				return n, v
			}
		}
		n++
	}
	return n, yes
}

// base64Within looks for size consecutive bytes of base64 among the first limit bytes of a text. Before them it accepts
// only bytes that may surround the lines of a key: white space, escaped or not, quotes, and line numbers. If the last
// line of a key comes first, it returns its place and no.
func base64Within(text string, size, limit int) (at int, v verdict) {
	const around = " \t\r\n\\\"',+-.:;>#*|()"
	row := 0
	for i := range limit {
		if i == len(text) {
			return 0, maybe
		}
		switch begins(text[i:], endOfKey) {
		case yes:
			return i, no
		case maybe:
			return 0, maybe
		case no:
		}
		switch c := text[i]; {
		case isBase64(c):
			row++
		case contains(around, c):
			row = 0
		default:
			return 0, no
		}
		if row == size {
			return i + 1 - size, yes
		}
	}
	return 0, no
}

func isBase64(c byte) bool { return isAlnum(c) || c == '+' || c == '/' || c == '=' }

package session

import (
	"strings"
	"unicode"
)

// maxExcerpt is the length of a prompt in lists, in characters.
const maxExcerpt = 200

// Excerpt returns the start of a text, on one line.
func Excerpt(text string) string {
	var b strings.Builder
	n, gap := 0, false
	for _, r := range text {
		if unicode.IsSpace(r) || unicode.IsControl(r) {
			gap = n > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			n++
		}
		gap = false
		b.WriteRune(r)
		if n++; n > maxExcerpt {
			return truncate(b.String())
		}
	}
	return b.String()
}

// truncate makes room for an ellipsis.
func truncate(line string) string {
	runes := []rune(line)
	return strings.TrimRight(string(runes[:maxExcerpt-1]), " ") + "…"
}

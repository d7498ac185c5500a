package session

import (
	"strings"
	"unicode"
)

// maxBrief is how much of a prompt lists tell, in characters.
const maxBrief = 200

// Excerpt is the beginning of a text, in one line.
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
		if n++; n > maxBrief {
			return truncate(b.String())
		}
	}
	return b.String()
}

// truncate makes room for a sign that something follows.
func truncate(line string) string {
	runes := []rune(line)
	return strings.TrimRight(string(runes[:maxBrief-1]), " ") + "…"
}

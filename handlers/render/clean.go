package render

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

// clean returns valid UTF-8 without control characters. It makes bidirectional control characters
// visible, because they make code look different from what it does.
func clean(text string) string {
	if isClean(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text) + 64)
	for i, r := range text {
		switch {
		case r == '\r':
			if !strings.HasPrefix(text[i+1:], "\n") {
				b.WriteByte('\n')
			}
		case isControl(r):
		case isBidiControl(r):
			fmt.Fprintf(&b, "‹U+%04X›", r)
		default:
			b.WriteRune(r) // U+FFFD for invalid UTF-8
		}
	}
	return b.String()
}

func isClean(text string) bool {
	for _, r := range text {
		if r == '\r' || r == utf8.RuneError || isControl(r) || isBidiControl(r) {
			return false
		}
	}
	return true
}

func isControl(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' && r != '\r' || r >= 0x7f && r <= 0x9f
}

func isBidiControl(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// plain renders a text without any formatting.
func plain(text string) string {
	return `<pre class="plain"><code>` + html.EscapeString(clean(text)) + "</code></pre>\n"
}

// omission renders a note about omitted text.
func omission(format string, args ...any) string {
	return `<p class="note">` + html.EscapeString(fmt.Sprintf(format, args...)) + "</p>\n"
}

// cut returns the first size bytes of a text at most, in whole runes.
func cut(text string, size int) string {
	if len(text) <= size {
		return text
	}
	for back := 0; back < utf8.UTFMax && size > back; back++ {
		if utf8.RuneStart(text[size-back]) {
			return text[:size-back]
		}
	}
	return text[:size]
}

// size formats a number of bytes.
func size(bytes int) string {
	switch {
	case bytes < 1<<10:
		return fmt.Sprintf("%d bytes", bytes)
	case bytes < 1<<20:
		return fmt.Sprintf("%d KB", bytes>>10)
	}
	return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
}

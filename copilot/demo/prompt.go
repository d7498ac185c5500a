package demo

import "strings"

// wrappers are the tags in which the CLI wraps what it adds to a prompt.
func wrappers() []string {
	return []string{
		"current_datetime", "mode_changed_notice", "system_reminder", "system_notification",
		"tagged_files", "ide_selection", "extension_context",
	}
}

// unwrap leaves what the user wrote.
func unwrap(content string) string {
	for _, tag := range wrappers() {
		content = cut(content, tag)
	}
	return strings.TrimSpace(content)
}

// cut removes every element of one name. A tag that is never closed is the user's own text.
func cut(s, tag string) string {
	opening, closing := "<"+tag+">", "</"+tag+">"
	var kept strings.Builder
	for {
		before, rest, opened := strings.Cut(s, opening)
		_, after, closed := strings.Cut(rest, closing)
		if !opened || !closed {
			return kept.String() + s
		}
		kept.WriteString(before)
		s = after
	}
}

// firstLine is the beginning of a text, short enough for a heading.
func firstLine(s string) string {
	const enough = 80
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return shorten(line, enough)
}

func shorten(s string, limit int) string {
	runes := []rune(s)
	if len(runes) <= limit {
		return s
	}
	return string(runes[:limit-1]) + "…"
}

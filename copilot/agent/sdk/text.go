package sdk

import (
	"strings"
	"unicode/utf8"

	"github.com/aymanbagabas/go-udiff"
)

// byteOrderMark may begin a file; the CLI's tools keep it.
const byteOrderMark = "\ufeff"

// plainText returns a text without a byte order mark and with "\n" at the ends of lines, as the CLI's tools see it. It returns false for
// what is no text, and for mixed ends of lines, which could not be restored.
func plainText(raw string) (string, bool) {
	windows := strings.Count(raw, "\r\n")
	if !utf8.ValidString(raw) || strings.Contains(raw, "\x00") || windows != 0 && windows != strings.Count(raw, "\n") {
		return "", false
	}
	return strings.ReplaceAll(strings.TrimPrefix(raw, byteOrderMark), "\r\n", "\n"), true
}

// withFormatOf gives a plain text the byte order mark and the ends of lines of another text.
func withFormatOf(raw, text string) string {
	if strings.Contains(raw, "\r\n") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	if strings.HasPrefix(raw, byteOrderMark) {
		text = byteOrderMark + text
	}
	return text
}

// replaceOnce replaces a text that must occur exactly once, as the CLI's tool edit does.
func replaceOnce(text, before, after string) (string, bool) {
	if before == "" || strings.Index(text, before) != strings.LastIndex(text, before) || !strings.Contains(text, before) {
		return "", false
	}
	return strings.Replace(text, before, after, 1), true
}

// difference returns the lines of a text that must be replaced to make it another one, with at least one line around them. They occur once
// in the text.
func difference(from, to string) (before, after string) {
	a, b := strings.SplitAfter(from, "\n"), strings.SplitAfter(to, "\n")
	first, last := 0, 0 // equal lines at the beginning and at the end
	for first < min(len(a), len(b)) && a[first] == b[first] {
		first++
	}
	for last < min(len(a), len(b))-first && a[len(a)-1-last] == b[len(b)-1-last] {
		last++
	}
	for {
		first, last = max(first-1, 0), max(last-1, 0)
		before, after = strings.Join(a[first:len(a)-last], ""), strings.Join(b[first:len(b)-last], "")
		whole := first == 0 && last == 0
		if whole || before != "" && strings.Index(from, before) == strings.LastIndex(from, before) {
			return before, after
		}
	}
}

// merge combines the changes of two texts that began as base. It returns false if they contradict each other.
func merge(base, a, b string) (string, bool) {
	edits, ok := udiff.Merge(udiff.Lines(base, a), udiff.Lines(base, b))
	if !ok {
		return "", false
	}
	merged, err := udiff.Apply(base, edits)
	return merged, err == nil
}

// lines returns the lines of a range of the CLI's tool view: the numbers of the first and the last one, which is -1 for the end. Without
// a range, it returns the text.
func lines(text string, span []int) (string, bool) {
	if len(span) == 0 {
		return text, true
	}
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(span) != 2 || span[0] < 1 || span[0] > len(all) {
		return "", false
	}
	last := len(all)
	if span[1] >= 0 {
		last = min(last, span[1])
	}
	if last < span[0] {
		return "", false
	}
	return strings.Join(all[span[0]-1:last], "\n"), true
}

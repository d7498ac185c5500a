package store

import (
	"strings"
	"unicode/utf8"
)

// What marks the words in a snippet; texts are stored without these.
const (
	markBegin = '\x02'
	markEnd   = '\x03'
)

// How many bytes of a long text stand before and behind the first word found.
const (
	excerptBefore = 80
	excerptBehind = 160
)

// excerpt gives the surroundings of the first of the words in a text, and where words are in them.
func (q query) excerpt(text string) (string, [][2]int) {
	from, to := 0, boundary(text, excerptBehind)
	var hits [][2]int
	for begin, end := range wordsOf(text) {
		if len(hits) > 0 && end > to {
			break
		}
		if !q.has(text[begin:end]) {
			continue
		}
		if len(hits) == 0 {
			from, to = boundary(text, begin-excerptBefore), boundary(text, end+excerptBehind)
		}
		hits = append(hits, [2]int{begin, end})
	}
	before, behind := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(text) {
		behind = "…"
	}
	for i := range hits {
		hits[i][0] += len(before) - from
		hits[i][1] += len(before) - from
	}
	return before + text[from:to] + behind, hits
}

// boundary gives the beginning of the character at a place, or the nearest end of the text.
func boundary(text string, at int) int {
	at = max(0, min(at, len(text)))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// wordsOf gives where the words of a text begin and end.
func wordsOf(text string) func(yield func(begin, end int) bool) {
	return func(yield func(begin, end int) bool) {
		for at := 0; at < len(text); {
			begin := strings.IndexFunc(text[at:], func(r rune) bool { return !separates(r) })
			if begin < 0 {
				return
			}
			begin += at
			if at = strings.IndexFunc(text[begin:], separates); at < 0 {
				at = len(text) - begin
			}
			at += begin
			if !yield(begin, at) {
				return
			}
		}
	}
}

// has tells whether a word is one of those that were typed, or begins as the last of them if that may go on.
func (q query) has(word string) bool {
	for i, w := range q.words {
		if strings.EqualFold(w, word) {
			return true
		}
		if q.open && i == len(q.words)-1 && len(word) > len(w) && strings.EqualFold(w, word[:boundary(word, len(w))]) {
			return true
		}
	}
	return false
}

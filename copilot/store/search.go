package store

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxWords is the maximum number of words of a query; the others are ignored.
const maxWords = 32

// Texts longer than longText bytes are excerpted here, up to readText bytes, because the time that SQLite needs grows
// with the square of their length.
const (
	longText = 8 << 10
	readText = 256 << 10
)

// Found is a text that a search found.
type Found struct {
	Session   string
	Title     string // of the session
	Directory string // of the session
	Number    uint64
	Kind      string
	Snippet   string   // text around the words
	Hits      [][2]int // byte offsets in Snippet where the words begin and end, in order
}

// Search returns the texts that contain all the words, newest first, or none without words. Everything that is not a
// letter or a digit separates words and has no other meaning. The last word may be a prefix, unless a separator follows
// it or it is a single letter. Words that differ in accents are found as well, but are not hits in long texts.
func (s *Store) Search(ctx context.Context, words string, limit int) ([]Found, error) {
	q := parse(words)
	if len(q.words) == 0 {
		return nil, nil
	}
	return many(ctx, s, q.found, `SELECT session.id, title, directory, text.number, text.kind, octet_length(text.body) > ?,
		CASE WHEN octet_length(text.body) > ? THEN substr(text.body, 1, ?) ELSE snippet(word, 0, char(2), char(3), '…', 24) END
		FROM word JOIN text ON text.key = word.rowid JOIN session ON session.key = text.session
		WHERE word MATCH ? ORDER BY word.rowid DESC LIMIT ?`, longText, longText, readText, q.match(), limit)
}

// found scans a row of the result.
func (q query) found(row scanner) (Found, error) {
	var f Found
	var long bool
	err := row.Scan(&f.Session, &f.Title, &f.Directory, &f.Number, &f.Kind, &long, &f.Snippet)
	if long {
		f.Snippet, f.Hits = q.excerpt(f.Snippet)
	} else {
		f.Snippet, f.Hits = unmark(f.Snippet)
	}
	return f, err
}

// query is a parsed search.
type query struct {
	words []string
	open  bool // the last word may be a prefix
}

func parse(typed string) query {
	typed = strings.ToValidUTF8(typed, " ")
	words := strings.FieldsFunc(typed, separates)
	if len(words) == 0 {
		return query{}
	}
	last := words[len(words)-1]
	return query{
		words: words[:min(len(words), maxWords)],
		open:  len(last) > 1 && len(words) <= maxWords && strings.HasSuffix(typed, last),
	}
}

func separates(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
}

// match returns the query in the syntax of FTS5.
func (q query) match() string {
	if len(q.words) == 0 {
		return ""
	}
	all := `"` + strings.Join(q.words, `" "`) + `"`
	if q.open {
		all += "*"
	}
	return all
}

// unmark removes the marks from a snippet and returns their offsets.
func unmark(marked string) (string, [][2]int) {
	var out strings.Builder
	var hits [][2]int
	begin := -1
	for _, r := range marked {
		switch {
		case r == markBegin:
			begin = out.Len()
		case r == markEnd && begin >= 0:
			hits = append(hits, [2]int{begin, out.Len()})
			begin = -1
		case r != markEnd:
			out.WriteRune(r)
		}
	}
	return out.String(), hits
}

// Marks of words in a snippet. Stored texts do not contain them.
const (
	markBegin = '\x02'
	markEnd   = '\x03'
)

// How many bytes of a long text stand before and after the first word found.
const (
	excerptBefore = 80
	excerptAfter  = 160
)

// excerpt returns the text around the first word found, and the offsets of the words in it.
func (q query) excerpt(text string) (string, [][2]int) {
	from, to := 0, boundary(text, excerptAfter)
	var hits [][2]int
	for begin, end := range wordsOf(text) {
		if len(hits) > 0 && end > to {
			break
		}
		if !q.has(text[begin:end]) {
			continue
		}
		if len(hits) == 0 {
			from, to = boundary(text, begin-excerptBefore), boundary(text, end+excerptAfter)
		}
		hits = append(hits, [2]int{begin, end})
	}
	before, after := "", ""
	if from > 0 {
		before = "…"
	}
	if to < len(text) {
		after = "…"
	}
	for i := range hits {
		hits[i][0] += len(before) - from
		hits[i][1] += len(before) - from
	}
	return before + text[from:to] + after, hits
}

// boundary returns the start of the character at an offset, limited to the text.
func boundary(text string, at int) int {
	at = max(0, min(at, len(text)))
	for at > 0 && at < len(text) && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// wordsOf yields the offsets of the words of a text.
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

// has reports whether a word is one of the query's, or begins with the last one if that may be a prefix.
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

package store

import (
	"context"
	"strings"
	"unicode"
)

// maxWords is how many words of a query count.
const maxWords = 32

// Texts of more bytes are excerpted here, as far as they are read: what SQLite needs for it grows with the square of
// their length.
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
	Snippet   string   // the text around the words
	Hits      [][2]int // where in Snippet the words begin and end, in bytes and in order
}

// Search returns the texts that contain all the words, those handed over last first. Whatever is not a letter or a digit
// separates words; nothing in them has a meaning of its own. Without any, nothing is found. The last word may be the
// beginning of one, unless something follows it (a space) or it is a single letter. Words that differ in accents are
// found as well, but are no hits in texts of more than some pages.
func (s *Store) Search(ctx context.Context, words string, limit int) ([]Found, error) {
	q := parse(words)
	if len(q.words) == 0 {
		return nil, nil
	}
	rows, err := s.read.Load().QueryContext(ctx, `SELECT session.id, title, directory, text.number, text.kind, octet_length(text.body) > ?,
		CASE WHEN octet_length(text.body) > ? THEN substr(text.body, 1, ?) ELSE snippet(word, 0, char(2), char(3), '…', 24) END
		FROM word JOIN text ON text.key = word.rowid JOIN session ON session.key = text.session
		WHERE word MATCH ? ORDER BY word.rowid DESC LIMIT ?`, longText, longText, readText, q.match(), limit)
	if err != nil {
		return nil, s.readError(err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []Found
	for rows.Next() {
		var f Found
		var long bool
		if err := rows.Scan(&f.Session, &f.Title, &f.Directory, &f.Number, &f.Kind, &long, &f.Snippet); err != nil {
			return nil, s.readError(err)
		}
		if long {
			f.Snippet, f.Hits = q.excerpt(f.Snippet)
		} else {
			f.Snippet, f.Hits = unmark(f.Snippet)
		}
		found = append(found, f)
	}
	return found, s.readError(rows.Err())
}

// query is the words of what somebody typed.
type query struct {
	words []string
	open  bool // the last one may go on
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

// match makes a query that FTS5 takes.
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

// unmark takes the marks out of a snippet and tells where they were.
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

package store

import (
	"context"
	"strings"
	"unicode"
)

// maxWords is how many words of a query count.
const maxWords = 32

// Found is a text that a search found.
type Found struct {
	Session string
	Number  uint64
	Kind    string
	Snippet string // the text around the words
}

// Search returns the texts that contain all the words, those handed over last first. Whatever is not a letter or a digit
// separates words; nothing in them has a meaning of its own. Without any, nothing is found.
func (s *Store) Search(ctx context.Context, words string, limit int) ([]Found, error) {
	query := match(words)
	if query == "" {
		return nil, nil
	}
	rows, err := s.read.Load().QueryContext(ctx, `SELECT session.id, text.number, text.kind, snippet(word, 0, '', '', '…', 24)
		FROM word JOIN text ON text.key = word.rowid JOIN session ON session.key = text.session
		WHERE word MATCH ? ORDER BY word.rowid DESC LIMIT ?`, query, limit)
	if err != nil {
		return nil, s.readError(err)
	}
	defer rows.Close() //nolint:errcheck // Err tells
	var found []Found
	for rows.Next() {
		var f Found
		if err := rows.Scan(&f.Session, &f.Number, &f.Kind, &f.Snippet); err != nil {
			return nil, s.readError(err)
		}
		found = append(found, f)
	}
	return found, s.readError(rows.Err())
}

// match makes a query that FTS5 takes of what somebody typed.
func match(words string) string {
	fields := strings.FieldsFunc(strings.ToValidUTF8(words, " "), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r)
	})
	fields = fields[:min(len(fields), maxWords)]
	for i, word := range fields {
		fields[i] = `"` + word + `"`
	}
	return strings.Join(fields, " ")
}

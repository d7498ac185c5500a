package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/copilot-portal/portal/copilot"
)

// How much of a text is shown in a table, in characters.
const (
	maxTitle   = 60
	maxName    = 200 // of what has to be shown whole
	maxExcerpt = 120
)

// shortID is how much of an id is shown.
const shortID = 8

// plain is what may be shown of a text that somebody else has written, in one
// line: nothing that would move the cursor or turn the direction of writing.
func plain(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Bidi_Control, r):
			return -1
		case unicode.IsControl(r):
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > limit {
		return string(r[:limit-1]) + "…"
	}
	return s
}

// writeTable writes a row for each of a list.
func writeTable[T any](w io.Writer, list []T, row func(T) []any) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range list {
		cells := row(one)
		_, _ = fmt.Fprintf(table, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...) // Flush tells
	}
	return table.Flush()
}

// writeSessions writes a table of sessions for people.
func writeSessions(w io.Writer, list []copilot.Info) error {
	return writeTable(w, list, func(i copilot.Info) []any {
		return []any{
			short(i.ID), shortTime(i.Changed, time.Now()), state(i), plain(i.Model, maxName), plain(shortenHome(i.Directory), maxName), plain(i.Title, maxTitle),
		}
	})
}

// writeFound writes what a search has found: where, and below it the text.
func writeFound(w io.Writer, found []copilot.Found) error {
	for _, f := range found {
		if _, err := fmt.Fprintf(w, "%s  %s  %s\n    %s\n", short(f.Session), f.Kind, plain(f.Title, maxTitle), plain(f.Snippet, maxExcerpt)); err != nil {
			return err
		}
	}
	return nil
}

func short(id string) string { return plain(id[:min(len(id), shortID)], shortID) }

// state says how a session is, to who is not in the portal that works with it.
func state(i copilot.Info) string {
	if i.State == copilot.StateElsewhere {
		return fmt.Sprintf("in use by process %d", i.Owner)
	}
	return string(i.State)
}

// shortTime is a time as short as it can be.
func shortTime(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	switch {
	case t.Format(time.DateOnly) == now.Format(time.DateOnly):
		return t.Format("15:04")
	case t.Year() == now.Year():
		return t.Format("2 Jan 15:04")
	}
	return t.Format(time.DateOnly)
}

// shortenHome is a directory with ~ for that of the user.
func shortenHome(dir string) string {
	home, err := os.UserHomeDir()
	if err != nil || home == string(filepath.Separator) {
		return dir
	}
	if rest, ok := strings.CutPrefix(dir, home); ok && (rest == "" || rest[0] == filepath.Separator) {
		return "~" + rest
	}
	return dir
}

// writeJSON writes a document for programs, and for people who look into it.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

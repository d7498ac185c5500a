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

	"github.com/copilot-portal/portal/copilot"
	text "github.com/copilot-portal/portal/copilot/plain"
)

// The lengths, in characters, to which texts in tables are cut.
const (
	maxTitle   = 60
	maxName    = 200 // texts that matter in full
	maxExcerpt = 120
)

// shortID is the number of characters shown of an id.
const shortID = 8

// plain makes a text from elsewhere safe for one line of a terminal: it removes control sequences and changes
// of the writing direction, and shortens it to limit characters.
func plain(s string, limit int) string {
	return text.Line(text.StripAll(strings.ToValidUTF8(s, "\uFFFD")), limit)
}

// writeTable writes one aligned row for each item of a list.
func writeTable[T any](w io.Writer, list []T, row func(T) []any) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, one := range list {
		cells := row(one)
		_, _ = fmt.Fprintf(table, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...) // Flush returns the error
	}
	return table.Flush()
}

// writeSessions writes a table of sessions.
func writeSessions(w io.Writer, list []copilot.Info) error {
	return writeTable(w, list, func(i copilot.Info) []any {
		return []any{
			short(i.ID), shortTime(i.Changed, time.Now()), state(i), plain(i.Model, maxName), plain(shortenHome(i.Directory), maxName), plain(i.Title, maxTitle),
		}
	})
}

// writeFound writes search results: the session, and below it the matching text.
func writeFound(w io.Writer, found []copilot.Found) error {
	for _, f := range found {
		if _, err := fmt.Fprintf(w, "%s  %s  %s\n    %s\n", short(f.Session), f.Kind, plain(f.Title, maxTitle), plain(f.Snippet, maxExcerpt)); err != nil {
			return err
		}
	}
	return nil
}

func short(id string) string { return plain(id[:min(len(id), shortID)], shortID) }

// state describes the state of a session. It names the process that holds the session.
func state(i copilot.Info) string {
	switch {
	case i.State == copilot.StateElsewhere:
		return fmt.Sprintf("in use by process %d", i.Owner)
	case i.Owner != 0:
		return fmt.Sprintf("%s in process %d", i.State, i.Owner)
	}
	return string(i.State)
}

// shortTime formats a time as the time of day if it is today, without the year if it is this year, else as a
// date.
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

// shortenHome replaces the user's home directory by ~.
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

// writeJSON writes indented JSON.
func writeJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

package archive_test

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/archive"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// maxEntry is the maximum size of an entry.
const maxEntry = 100_000

// stored returns a store with a session "a" that has these events, the first of which has the number 1.
func stored(t *testing.T, bodies ...event.Body) (*store.Store, *store.Lease) {
	t.Helper()
	return storedIn(t, t.TempDir(), bodies...)
}

// storedIn is stored for a directory.
func storedIn(t *testing.T, directory string, bodies ...event.Body) (*store.Store, *store.Lease) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Directory: directory, MaxEntry: maxEntry})
	require.NoError(t, err)
	t.Cleanup(func() { _ = s.Close() })
	lease, err := s.Create(t.Context(), store.Session{ID: "a"})
	require.NoError(t, err)
	for i, b := range bodies {
		require.NoError(t, archive.Append(lease, journal.Entry[event.Event]{N: uint64(i) + 1, Value: event.Event{Run: "r", Body: b}}))
	}
	require.NoError(t, s.Flush(t.Context()))
	return s, lease
}

func TestEventsAreReadAsTheyWere(t *testing.T) {
	long := strings.Repeat("result ", 1000)
	all := []event.Body{event.RunStarted{}, event.ToolEnded{ID: "t", Result: &event.ToolResult{Content: long, Detail: "detail"}}}
	s, _ := stored(t, all...)
	got, err := archive.Read(t.Context(), s, "a", 0, 10)
	require.NoError(t, err)
	require.Len(t, got, 2)
	for i, e := range got {
		assert.Equal(t, all[i], e.Value.Body)
	}
}

func TestNoticeIsStoredInPlaceOfEventThatIsTooLarge(t *testing.T) {
	s, _ := stored(t, event.ToolEnded{ID: "t", Result: &event.ToolResult{Content: strings.Repeat("x", maxEntry)}}, event.RunEnded{})
	got, err := archive.Read(t.Context(), s, "a", 0, 10)
	require.NoError(t, err)
	require.Len(t, got, 2)
	notice, _ := got[0].Value.Body.(event.Notice)
	assert.Equal(t, "portal.not_stored", notice.Kind)
	assert.Contains(t, string(notice.Raw), "must not exceed")
	assert.Equal(t, event.RunEnded{}, got[1].Value.Body)
}

func TestEventsThatWereNeverStoredAreGap(t *testing.T) {
	s, lease := stored(t, event.RunStarted{})
	require.NoError(t, archive.AppendGap(lease, &journal.GapError{First: 10}))
	require.NoError(t, archive.Append(lease, journal.Entry[event.Event]{N: 10, Value: event.Event{Body: event.RunEnded{}}}))
	require.NoError(t, s.Flush(t.Context()))
	got, err := archive.Read(t.Context(), s, "a", 0, 10)
	require.NoError(t, err)
	assert.Len(t, got, 1, "what precedes it is read first")
	assertGap(t, s, 1, 10)
}

// assertGap checks that reading session a after a number reports a gap up to first.
func assertGap(t *testing.T, s *store.Store, after, first uint64) {
	t.Helper()
	_, err := archive.Read(t.Context(), s, "a", after, 10)
	var gap *journal.GapError
	require.ErrorAs(t, err, &gap)
	assert.Equal(t, first, gap.First)
}

func TestDamagedEventsAreGap(t *testing.T) {
	for name, damage := range map[string]func(segment []byte){
		"the segment":    func(segment []byte) { clear(segment) },
		"its encoding":   func(segment []byte) { segment[0] = 77 },
		"its number":     func(segment []byte) { segment[1] ^= 8 },
		"an event in it": func(segment []byte) { segment[bytes.IndexByte(segment, '{')] = 'x' },
	} {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			s, lease := storedIn(t, directory)
			for n := range uint64(5) { // a segment for each
				require.NoError(t, archive.Append(lease, journal.Entry[event.Event]{N: n + 1, Value: event.Event{Body: event.Notice{Kind: "k"}}}))
				require.NoError(t, s.Flush(t.Context()))
			}
			overwriteSegment(t, directory, 3, damage)
			got, err := archive.Read(t.Context(), s, "a", 0, 10)
			require.NoError(t, err)
			require.Len(t, got, 2, "what precedes it is read first")
			assertGap(t, s, 2, 4)
			got, err = archive.Read(t.Context(), s, "a", 3, 10)
			require.NoError(t, err)
			require.Len(t, got, 2)
		})
	}
}

func TestEventWithoutItsPayloadIsGap(t *testing.T) {
	directory := t.TempDir()
	s, lease := storedIn(t, directory)
	for n, b := range []event.Body{event.RunStarted{}, event.ToolEnded{ID: "t", Result: &event.ToolResult{Content: strings.Repeat("result ", 1000)}}, event.RunEnded{}} {
		require.NoError(t, archive.Append(lease, journal.Entry[event.Event]{N: uint64(n) + 1, Value: event.Event{Body: b}}))
	}
	require.NoError(t, s.Flush(t.Context()))
	withFile(t, directory, func(db *sql.DB) {
		_, err := db.ExecContext(t.Context(), "DELETE FROM payload")
		require.NoError(t, err)
	})
	got, err := archive.Read(t.Context(), s, "a", 0, 10)
	require.NoError(t, err)
	require.Len(t, got, 1)
	assertGap(t, s, 1, 3)
}

func TestEventsThatWereLostWithTheFileAreGap(t *testing.T) {
	directory := filepath.Join(t.TempDir(), "data")
	s, lease := storedIn(t, directory, event.RunStarted{}, event.RunEnded{})
	require.NoError(t, os.RemoveAll(directory))
	require.NoError(t, archive.Append(lease, journal.Entry[event.Event]{N: 3, Value: event.Event{Body: event.RunStarted{}}}))
	require.NoError(t, s.Flush(t.Context()))
	assertGap(t, s, 0, 3)
	got, err := archive.Read(t.Context(), s, "a", 2, 10)
	require.NoError(t, err)
	require.Len(t, got, 1)
}

// overwriteSegment changes the segment of a store that ends with an entry.
func overwriteSegment(t *testing.T, directory string, last int, change func(segment []byte)) {
	t.Helper()
	withFile(t, directory, func(db *sql.DB) {
		var data []byte
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT data FROM segment WHERE last = ?", last).Scan(&data))
		change(data)
		_, err := db.ExecContext(t.Context(), "UPDATE segment SET data = ? WHERE last = ?", data, last)
		require.NoError(t, err)
	})
}

// withFile calls do with the file of a store.
func withFile(t *testing.T, directory string, do func(*sql.DB)) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(directory, "sessions.db")+"?_pragma=busy_timeout(5000)")
	require.NoError(t, err)
	defer db.Close()
	do(db)
}

func TestLoadedDeltaKnowsWhetherItIsSuperseded(t *testing.T) {
	s, _ := stored(t, event.MessageDelta{ID: "ends", Text: "a"}, event.MessageDelta{ID: "does not", Text: "b"}, event.MessageEnded{ID: "ends", Text: "a"}, event.RunEnded{})
	got, err := archive.Loader(s, "a")(t.Context(), 0, 2)
	require.NoError(t, err)
	require.Len(t, got, 2)
	assert.True(t, got[0].Superseded)
	assert.False(t, got[1].Superseded)
}

func TestSupersededDeltasAreKnownAtTheEndOfTheRun(t *testing.T) {
	var d archive.Deltas
	var spans []store.Span
	for i, b := range []event.Body{
		event.MessageDelta{ID: "m", Text: "a"},
		event.MessageDelta{ID: "m", Text: "b"},
		event.MessageDelta{ID: "cut", Text: "c"},
		event.MessageEnded{ID: "m", Text: "ab"},
		event.RunEnded{},
	} {
		spans = d.Apply(journal.Entry[event.Event]{N: uint64(i) + 1, Value: event.Event{Body: b}})
	}
	assert.Equal(t, []store.Span{{First: 1, Last: 2}}, spans)
}

package store_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// full creates a session with something in every table, closed and released.
func full(t *testing.T, s *store.Store, id string, size int) {
	t.Helper()
	l, err := s.Create(t.Context(), store.Session{ID: id, Meta: []byte("meta")})
	require.NoError(t, err)
	payload := make([]byte, size)
	_, _ = rand.Read(payload)
	require.NoError(t, l.Append(store.Entry{Number: 1, Data: []byte("a"), Payload: payload}))
	require.NoError(t, l.Index(store.Text{Number: 1, Kind: "prompt", Body: "words of " + id}))
	require.NoError(t, l.Position("page", 1))
	require.NoError(t, l.Update(store.Session{Closed: true, Meta: []byte("meta")}))
	require.NoError(t, l.Release(t.Context()))
}

func TestDeletedSessionLeavesNothing(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	full(t, s, "kept", 100)
	full(t, s, "gone", 4<<20)
	require.NoError(t, s.Delete(t.Context(), "gone"))
	require.ErrorIs(t, s.Delete(t.Context(), "gone"), store.ErrNotFound)
	for _, table := range []string{"segment", "position", "meta", "text", "session", "word"} {
		require.Equal(t, 1, count(t, directory, "SELECT count(*) FROM "+table), table)
	}
	for _, table := range []string{"payload", "removed"} {
		require.Zero(t, count(t, directory, "SELECT count(*) FROM "+table), table)
	}
	found, err := s.Search(t.Context(), "words", 10)
	require.NoError(t, err)
	require.Len(t, found, 1)
	change(t, directory, "INSERT INTO word (word) VALUES ('integrity-check')")
	require.NoError(t, s.Close())
	info, err := os.Stat(file(directory))
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1<<20), "its space is freed")
}

func TestNextDeletionSweepsLeftovers(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	for _, id := range []string{"a", "b"} {
		l := create(t, s, id)
		for n := uint64(1); n <= 200; n++ {
			require.NoError(t, l.Append(store.Entry{Number: n, Payload: bytes.Repeat([]byte{byte(n)}, 4096)}))
			require.NoError(t, l.Index(store.Text{Number: n, Body: "words"}))
		}
		require.NoError(t, l.Release(t.Context()))
	}
	// As after a kill in the middle of a deletion.
	change(t, directory, "INSERT INTO removed SELECT key FROM session WHERE id = 'a'")
	change(t, directory, "DELETE FROM session WHERE id = 'a'")
	found, err := s.Search(t.Context(), "words", 1000)
	require.NoError(t, err)
	require.Len(t, found, 200)
	require.NoError(t, s.Delete(t.Context(), "b"))
	for _, table := range []string{"segment", "payload", "text", "word", "removed"} {
		require.Zero(t, count(t, directory, "SELECT count(*) FROM "+table), table)
	}
}

func TestRetention(t *testing.T) {
	cases := map[string]struct {
		age   time.Duration
		bytes int64
		want  []string
	}{
		"deletes nothing without a limit":     {0, 0, nil},
		"deletes sessions that are too old":   {36 * time.Hour, 0, []string{"open", "d3", "d2"}},
		"deletes the oldest for their size":   {0, 1<<20 + 1<<19, []string{"open", "d3", "d2"}},
		"deletes by both":                     {60 * time.Hour, 1 << 20, []string{"open", "d3", "d2", "d1"}},
		"keeps held sessions":                 {time.Nanosecond, 1, []string{"open", "d3", "d2", "d1", "d0"}},
		"deletes nothing while there is room": {1000 * time.Hour, 1 << 30, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			s := open(t, directory)
			for days, id := range []string{"d0", "d1", "d2", "d3", "open", "held"} {
				size := 1 << 19
				if days > 3 {
					size = 0
				}
				full(t, s, id, size)
				change(t, directory, "UPDATE session SET changed = ? WHERE id = ?", time.Now().Add(-time.Duration(days)*24*time.Hour-time.Minute).UnixMilli(), id)
			}
			change(t, directory, "UPDATE session SET closed = 0 WHERE id = 'open'")
			held, err := s.Acquire(t.Context(), "held")
			require.NoError(t, err)
			deleted, err := s.DeleteExpired(t.Context(), c.age, c.bytes)
			require.NoError(t, err)
			require.Equal(t, c.want, ids(deleted))
			require.NoError(t, held.Append(store.Entry{Number: 2, Data: bytes.Repeat([]byte("a"), 10)}))
			require.NoError(t, s.Flush(t.Context()))
			require.Equal(t, 6-len(deleted), count(t, directory, "SELECT count(*) FROM session"))
		})
	}
}

func TestRetentionSweepsBeforeItDeletes(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	full(t, s, "living", 100)
	full(t, s, "deleted elsewhere", 4<<20)
	change(t, directory, "INSERT INTO removed SELECT key FROM session WHERE id = 'deleted elsewhere'")
	change(t, directory, "DELETE FROM session WHERE id = 'deleted elsewhere'")
	deleted, err := s.DeleteExpired(t.Context(), 0, 1<<20)
	require.NoError(t, err)
	require.Empty(t, deleted)
	require.Zero(t, count(t, directory, "SELECT count(*) FROM removed"))
}

// ids returns the ids of deleted sessions.
func ids(deleted []store.Deleted) (list []string) {
	for _, d := range deleted {
		list = append(list, d.ID)
	}
	return list
}

func TestRetentionDeletesOrphansOnly(t *testing.T) {
	directory := t.TempDir()
	s, living, dead := open(t, directory), open(t, directory), open(t, directory)
	create(t, living, "held elsewhere")
	create(t, s, "held here")
	create(t, dead, "left")
	change(t, directory, "UPDATE owner SET start = '1' WHERE key = (SELECT owner FROM session WHERE id = 'left')")
	change(t, directory, "UPDATE session SET changed = 0")
	deleted, err := s.DeleteExpired(t.Context(), time.Hour, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"left"}, ids(deleted))
}

func TestRetentionSparesPinnedSessions(t *testing.T) {
	directory := t.TempDir()
	s := open(t, directory)
	for _, id := range []string{"pinned", "other"} {
		l, err := s.Create(t.Context(), store.Session{ID: id, Pinned: id == "pinned"})
		require.NoError(t, err)
		require.NoError(t, l.Release(t.Context()))
	}
	change(t, directory, "UPDATE session SET changed = 0")
	deleted, err := s.DeleteExpired(t.Context(), time.Hour, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"other"}, ids(deleted))
}

func TestRetentionSparesSessionsInUse(t *testing.T) {
	directory := t.TempDir()
	s, user := open(t, directory), open(t, directory)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for n := range 300 {
			id := fmt.Sprint("s", n%7)
			l, err := user.Acquire(t.Context(), id)
			if errors.Is(err, store.ErrNotFound) {
				l, err = user.Create(t.Context(), store.Session{ID: id})
			}
			if errors.Is(err, store.ErrExists) || !assert.NoError(t, err) {
				continue
			}
			assert.NoError(t, l.Append(store.Entry{Number: l.Stored() + 1}))
			assert.NoError(t, l.Release(t.Context()), "the session is still held")
			assert.ErrorIs(t, l.Merge(), store.ErrReleased, "a held session is not deleted")
		}
	}()
	deleted := 0
	for more := true; more; {
		select {
		case <-ended:
			more = false
		default:
		}
		some, err := s.DeleteExpired(t.Context(), 0, 1)
		require.NoError(t, err)
		deleted += len(some)
	}
	require.Positive(t, deleted)
}

func TestRetentionWithNothingToDoIsCheap(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, open(t, directory).Close())
	plan := plan(t, directory, `SELECT id, changed FROM session WHERE (changed, id) > (0, '') AND changed < 1 AND owner IS NOT 1
		ORDER BY changed, id LIMIT 1`)
	require.Contains(t, plan, "USING INDEX session_changed")
	require.NotContains(t, plan, "TEMP B-TREE")
}

// plan returns the query plan of a database.
func plan(t *testing.T, directory, query string) string {
	t.Helper()
	db, err := sql.Open("sqlite", file(directory))
	require.NoError(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+query)
	require.NoError(t, err)
	defer rows.Close()
	var steps []string
	for rows.Next() {
		var id, parent, unused int
		var step string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	require.NoError(t, rows.Err())
	return strings.Join(steps, "; ")
}

package store_test

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// owned creates a session in a store of its own, as another process would.
func owned(t *testing.T, directory, id string) {
	t.Helper()
	create(t, open(t, directory, func(o *store.Options) { o.Heartbeat = time.Hour }), id)
}

func TestOrphansAreSessionsOfDeadOwners(t *testing.T) {
	me := store.Started(os.Getpid())
	synctest.Test(t, func(t *testing.T) {
		directory := t.TempDir()
		s := open(t, directory)
		orphans := func() []string {
			ids, err := s.Orphans(t.Context())
			require.NoError(t, err)
			return ids
		}
		require.Empty(t, orphans())

		create(t, s, "own")
		require.NoError(t, create(t, s, "free").Release(t.Context()))
		for i, c := range []struct {
			id, start, host string // host empty: this one
			late            time.Duration
		}{
			{"killed", "1", "", 0},
			{"living", me, "", time.Hour},
			{"killed later", "1", "", 0},
			{"silent elsewhere", me, "elsewhere", time.Minute},
			{"living elsewhere", me, "elsewhere", 0},
		} {
			owned(t, directory, c.id)
			change(t, directory, `UPDATE owner SET start = ?, host = iif(? = '', host, ?), beat = ?
				WHERE key = (SELECT owner FROM session WHERE id = ?)`, c.start, c.host, c.host, time.Now().Add(-c.late).UnixMilli(), c.id)
			change(t, directory, "UPDATE session SET changed = ? WHERE id = ?", i+1, c.id)
		}
		for range 5 {
			require.Equal(t, []string{"killed later", "killed"}, orphans())
			time.Sleep(2 * time.Second)
			change(t, directory, "UPDATE owner SET beat = ? WHERE key = (SELECT owner FROM session WHERE id = 'living elsewhere')", time.Now().UnixMilli())
		}
		require.Equal(t, []string{"silent elsewhere", "killed later", "killed"}, orphans())

		_, err := s.Acquire(t.Context(), "killed later")
		require.NoError(t, err)
		require.Equal(t, []string{"silent elsewhere", "killed"}, orphans(), "an acquired session is not an orphan")
	})
}

func TestOrphansAreFoundByTheirOwners(t *testing.T) {
	directory := t.TempDir()
	require.NoError(t, open(t, directory).Close())
	for query, index := range map[string]string{
		`SELECT session.owner, pid FROM session LEFT JOIN owner ON owner.key = session.owner
			WHERE session.owner IS NOT NULL GROUP BY session.owner`: "COVERING INDEX session_owner",
		"SELECT id FROM session WHERE owner IN (SELECT value FROM json_each('[1]')) ORDER BY changed DESC, id DESC": "USING INDEX session_owner",
	} {
		require.Contains(t, plan(t, directory, query), index)
	}
}

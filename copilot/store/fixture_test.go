package store_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

var release = flag.Bool("release", false, "write the fixture of the current version, once, when it is released")

// current is the current version of the file.
const current = 7

// fixture writes the content of the file of every version.
func fixture(t *testing.T, directory string) {
	t.Helper()
	s := open(t, directory)
	l, err := s.Create(t.Context(), store.Session{
		ID: "a", Origin: "rest", Title: "the title", Model: "the model", Directory: "/project", Meta: []byte("meta"),
		Created: time.UnixMilli(1_000_000),
	})
	require.NoError(t, err)
	fill(t, s, l, 1, 20)
	fill(t, s, l, 21, 40)
	require.NoError(t, l.Merge())
	require.Eventually(t, func() bool { return count(t, directory, "SELECT count(*) FROM segment") == 1 }, time.Minute, time.Millisecond)
	fill(t, s, l, 41, 50)
	require.NoError(t, l.Append(store.Entry{Number: 60, Data: []byte("last"), Payload: bytes.Repeat([]byte("x"), 5000)}))
	require.NoError(t, l.Position("page", 7))
	require.NoError(t, l.Index(store.Text{Number: 3, Kind: "prompt", Body: "words to find"}))
	require.NoError(t, s.Flush(t.Context()))
	other := create(t, s, "other")
	require.NoError(t, other.Release(t.Context()))
	_, err = s.AppendActivity(t.Context(), begin(t, s, "a"), []byte("one"), []byte("two"))
	require.NoError(t, err)
	require.NoError(t, s.Admit(t.Context(), []byte("hash"), store.Visitor{User: "somebody", Scopes: "operations:read operations:write", Until: time.UnixMilli(1 << 45)}))
	added, err := s.AddShare(t.Context(), fixtureShare(), 1)
	require.NoError(t, err)
	require.True(t, added)
	require.NoError(t, s.Close())
	// As after a kill: the owner does not exist any more.
	change(t, directory, "INSERT INTO owner VALUES (7, 4000000, '1', 'a machine that does not exist', 0)")
	change(t, directory, "UPDATE session SET owner = 7, changed = created WHERE id = 'a'")
	// As in a cluster.
	change(t, directory, "INSERT INTO cluster (name, node, applied) VALUES ('the cluster', 'the node', 12)")
	change(t, directory, "INSERT INTO shared (subject, sequence, number, version, shipped) VALUES ('session/a', 11, 60, 5, 4)")
	change(t, directory, "PRAGMA wal_checkpoint(truncate)")
}

// fixtureShare is the share that fixture writes since version 5.
func fixtureShare() store.Share {
	return store.Share{
		ID: "s", Session: "a", Hash: []byte("hash"), Rights: "read", Label: "the label",
		Created: time.UnixMilli(1_000_000), Expires: time.UnixMilli(1 << 45),
	}
}

func TestFilesOfEveryVersionAreOpened(t *testing.T) {
	if *release {
		directory := t.TempDir()
		fixture(t, directory)
		data, err := os.ReadFile(file(directory))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(fmt.Sprintf("testdata/version%d.db", current), data, 0o644))
	}
	for version := 1; version <= current; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			directory := t.TempDir()
			data, err := os.ReadFile(fmt.Sprintf("testdata/version%d.db", version))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(file(directory), data, 0o644))
			require.Equal(t, version, count(t, directory, "PRAGMA user_version"))
			if version >= 6 {
				clusterKnown(t, directory)
			}
			known(t, directory)
			if version >= 2 {
				activitiesKnown(t, directory)
			}
			if version >= 5 {
				shared, err := open(t, directory).Share(t.Context(), "s")
				require.NoError(t, err)
				require.Equal(t, fixtureShare(), shared)
			}
			require.Equal(t, current, count(t, directory, "PRAGMA user_version"))
		})
	}
}

// known checks that a file holds the content written by fixture.
func known(t *testing.T, directory string) {
	t.Helper()
	s := open(t, directory)
	l, err := s.Acquire(t.Context(), "a")
	require.NoError(t, err)
	require.EqualValues(t, 2, l.Epoch())
	require.EqualValues(t, 60, l.Stored())
	entries := all(t, s, "a")
	same(t, entries[:50], 1, 50)
	require.Equal(t, store.Entry{Number: 60, Data: []byte("last"), Payload: bytes.Repeat([]byte("x"), 5000)}, entries[50])
	page, err := s.List(t.Context(), store.Cursor{}, 10)
	require.NoError(t, err)
	require.Len(t, page, 2)
	head := page[1]
	require.Equal(t, store.Session{
		ID: "a", Origin: "rest", Title: "the title", Model: "the model", Directory: "/project", Meta: []byte("meta"),
		Created: time.UnixMilli(1_000_000), Changed: time.UnixMilli(1_000_000), Epoch: 2, Last: 60, Owner: os.Getpid(), OwnerName: s.Name(),
	}, head)
	positions, err := s.Positions(t.Context(), "a")
	require.NoError(t, err)
	require.Equal(t, map[string]uint64{"page": 7}, positions)
	found, err := s.Search(t.Context(), "find words", 10)
	require.NoError(t, err)
	require.Equal(t, []store.Found{{
		Session: "a", Title: "the title", Directory: "/project", Number: 3, Kind: "prompt",
		Snippet: "words to find", Hits: [][2]int{{0, 5}, {9, 13}},
	}}, found)
	fill(t, s, l, 61, 62)
	info, err := os.Stat(file(directory))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

// clusterKnown checks what a file of a node has since version 6, and ends its part in the cluster.
func clusterKnown(t *testing.T, directory string) {
	t.Helper()
	s := open(t, directory, node)
	unshared, err := s.Unshared(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"session/a"}, unshared)
	shared, err := s.Progress(t.Context(), "session/a")
	require.NoError(t, err)
	require.Equal(t, store.Progress{Sequence: 11, Number: 60, Version: 5, Shipped: 4}, shared)
	applied, err := s.Join(t.Context(), "the cluster", "the node")
	require.NoError(t, err)
	require.EqualValues(t, 12, applied)
	require.NoError(t, s.Close())
	name, err := store.Leave(t.Context(), store.Options{Directory: directory})
	require.NoError(t, err)
	require.Equal(t, "the cluster", name)
}

// activitiesKnown checks the content that fixture writes since version 2.
func activitiesKnown(t *testing.T, directory string) {
	t.Helper()
	s := open(t, directory)
	adopted, err := s.Adopt(t.Context(), "test")
	require.NoError(t, err)
	require.Len(t, adopted, 1)
	require.Equal(t, []byte("begun"), adopted[0].Head)
	require.Equal(t, []string{"one", "two"}, lines(t, s, "a", 0, 0))
	visitor, err := s.Admitted(t.Context(), []byte("hash"))
	require.NoError(t, err)
	require.Equal(t, "somebody", visitor.User)
	require.Equal(t, "operations:read operations:write", visitor.Scopes)
}

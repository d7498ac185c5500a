package cluster_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/memlog"
	"github.com/copilot-portal/portal/copilot/store"
)

func TestChangeIsDecodedAsItWasEncoded(t *testing.T) {
	l := &memlog.Log{Server: memlog.NewServer()}
	c := store.Change{
		Subject: "session/s", Node: "n", Process: "p", Version: 3, Owner: &store.Owner{Key: 4, PID: 5}, Epoch: 6, Last: 1 << 62, Changed: 8,
		Session: &store.Session{ID: "s", Meta: []byte{0, 255}}, Texts: []store.Text{{Number: 1, Kind: "prompt", Body: "\x00ä"}},
		Entries: []store.Entry{{Number: 7, Data: []byte("data")}, {Number: 9, Payload: bytes.Repeat([]byte("x"), 200_000)}, {Number: 1 << 62}},
	}
	data, err := cluster.Encode(t.Context(), l, c)
	require.NoError(t, err)
	require.Less(t, len(data), 1000)
	decoded, err := cluster.Decode(t.Context(), l, data)
	require.NoError(t, err)
	c.Session.Created, c.Session.Changed = decoded.Session.Created, decoded.Session.Changed
	require.Equal(t, c, decoded)
	for n := range len(data) {
		_, _ = cluster.Decode(t.Context(), l, data[:n]) // must not panic
	}
}

func TestLargeMessageIsCompressed(t *testing.T) {
	l := &memlog.Log{Server: memlog.NewServer()}
	c := store.Change{Subject: "session/s"}
	for n := range uint64(200) {
		c.Entries = append(c.Entries, store.Entry{Number: n + 1, Data: fmt.Appendf(nil, "the text of entry %d is much like that of the others", n)})
	}
	data, err := cluster.Encode(t.Context(), l, c)
	require.NoError(t, err)
	require.Less(t, len(data), 4000)
	decoded, err := cluster.Decode(t.Context(), l, data)
	require.NoError(t, err)
	require.Equal(t, c, decoded)
	for n := range len(data) {
		_, err := cluster.Decode(t.Context(), l, data[:n])
		require.Error(t, err)
	}
}

func TestObjectOfTheFirstVersionIsNamedByItsHash(t *testing.T) {
	l := &memlog.Log{Server: memlog.NewServer()}
	part := bytes.Repeat([]byte("x"), 200_000)
	data, err := cluster.Encode(t.Context(), l, store.Change{Subject: "session/s", Entries: []store.Entry{{Number: 1, Data: part}}})
	require.NoError(t, err)
	data[0] = 1
	_, err = cluster.Decode(t.Context(), l, data)
	require.Error(t, err)
	require.NoError(t, l.Put(t.Context(), fmt.Sprintf("%x", sha256.Sum256(part)), part))
	c, err := cluster.Decode(t.Context(), l, data)
	require.NoError(t, err)
	require.Equal(t, part, c.Entries[0].Data)
}

// FuzzDecodeChange checks that no message crashes a node, and that what it decodes is encoded again alike.
func FuzzDecodeChange(f *testing.F) {
	l := &memlog.Log{Server: memlog.NewServer()}
	for _, c := range []store.Change{
		{Subject: "session/s", Entries: []store.Entry{{Number: 1, Data: []byte("one")}, {Number: 5, Payload: []byte("five")}}},
		{Subject: "share/x", Removed: true},
		{Subject: "session/large", Entries: []store.Entry{{Number: 1, Data: bytes.Repeat([]byte("large "), 1000)}}},
		{Subject: "job/j", Activity: &store.Activity{Kind: "job", ID: "j"}},
	} {
		data, err := cluster.Encode(f.Context(), l, c)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Add([]byte{1, 2, '{', '}', 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := cluster.Decode(t.Context(), l, data)
		if err != nil {
			return
		}
		again, err := cluster.Encode(t.Context(), l, c)
		require.NoError(t, err)
		decoded, err := cluster.Decode(t.Context(), l, again)
		require.NoError(t, err)
		require.Equal(t, c.Entries, decoded.Entries)
	})
}

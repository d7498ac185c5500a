package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/store"
)

// cutOff is a cluster whose log cannot be reached.
type cutOff struct{ store.Cluster }

func (cutOff) Written(...string)    {}
func (cutOff) IsMember(string) bool { return true }

func TestWhatIsKeptForTheLogIsBounded(t *testing.T) {
	s := open(t, t.TempDir(), func(o *store.Options) { o.Cluster = cutOff{} })
	_, err := s.Join(t.Context(), "team", "node-1")
	require.NoError(t, err)
	before, err := s.Progress(t.Context(), "session/s")
	require.NoError(t, err)
	l := create(t, s, "s")
	meta, number := make([]byte, 1<<20), uint64(0)
	for i := range 40 { // 40 MiB of heads
		for range 3 {
			number++
			fill(t, s, l, number, number)
		}
		meta[0] = byte(i)
		require.NoError(t, l.Update(store.Session{Meta: append([]byte{}, meta...)}))
		require.NoError(t, s.Flush(t.Context())) // so that each is a piece
		require.NoError(t, l.Drop(store.Span{First: number - 1, Last: number - 1}))
		require.NoError(t, s.Flush(t.Context()))
		pieces, bytes := s.Recent()
		require.LessOrEqual(t, bytes, 16<<20)
		require.LessOrEqual(t, pieces, 5*17)
	}
	c, err := s.Change(t.Context(), "session/s", before.Version, 0)
	require.NoError(t, err)
	require.False(t, c.More)
	require.Equal(t, number, c.Last)
	require.Len(t, c.Drop, 40, "the file does not say what is to be dropped")
	require.Equal(t, byte(39), c.Session.Meta[0])
	s.Shipped("session/s", c.Version)
	pieces, bytes := s.Recent()
	require.Zero(t, pieces)
	require.Zero(t, bytes)
}

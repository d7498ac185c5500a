package server_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestObjectsAreListedAndDeleted(t *testing.T) {
	t.Parallel()
	ctx, _, log := logOnNATS(t)
	began := time.Now().Add(-time.Second)
	list, err := log.Objects(ctx)
	require.NoError(t, err)
	require.Empty(t, list)
	const name = "session/ä b/conversation-1"
	require.NoError(t, log.Put(ctx, name, make([]byte, 300_000)))
	require.NoError(t, log.Put(ctx, "session/x/0a", []byte("small")))
	list, err = log.Objects(ctx)
	require.NoError(t, err)
	require.Len(t, list, 2)
	for _, o := range list {
		assert.Contains(t, []string{name, "session/x/0a"}, o.Name)
		assert.True(t, o.Stored.After(began), o.Stored)
	}
	require.NoError(t, log.Delete(ctx, name))
	require.NoError(t, log.Delete(ctx, name), "another node may be faster")
	list, err = log.Objects(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1)
	_, err = log.Get(ctx, name)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

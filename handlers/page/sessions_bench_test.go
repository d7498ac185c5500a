package page_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/store"
)

// BenchmarkSessionPoll measures a poll of 500 stored sessions. The portal polls twice a second
// for all UIs that watch them.
func BenchmarkSessionPoll(b *testing.B) {
	kept, err := store.Open(b.Context(), store.Options{Directory: b.TempDir()})
	require.NoError(b, err)
	defer kept.Close()
	agents := fake.New()
	defer agents.Close()
	host := agents.NewHost(copilot.Options{Store: kept, Limits: copilot.Limits{Idle: time.Millisecond}})
	defer host.Close(b.Context())
	dir := b.TempDir()
	for i := range 500 {
		s, err := host.Start(b.Context(), copilot.Start{Origin: "ui", Directory: dir, WithoutAgent: true})
		require.NoError(b, err)
		require.NoError(b, s.Rename(b.Context(), fmt.Sprint("Session number ", i)))
		require.NoError(b, s.Close())
	}
	require.NoError(b, kept.Flush(b.Context()))
	for b.Loop() {
		list, _, err := host.Sessions(b.Context(), "", 500)
		require.NoError(b, err)
		require.Len(b, list, 500)
	}
}

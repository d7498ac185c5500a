package server_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server"
)

func TestWorkThatWaitsForAnAgentDoesNotDelayTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cancelled atomic.Bool
		stop, wait := server.Background(t.Context(), func(ctx context.Context) {
			<-ctx.Done()
			cancelled.Store(true)
			time.Sleep(20 * time.Second) // for a lock
		})
		began := time.Now()
		stop()
		assert.True(t, cancelled.Load())
		assert.Equal(t, 300*time.Millisecond, time.Since(began))
		wait()
		assert.Equal(t, 20*time.Second, time.Since(began), "the storage is closed afterwards")
	})
}

func TestWorkThatEndsAtOnceDoesNotDelayTheStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop, wait := server.Background(t.Context(), func(ctx context.Context) { <-ctx.Done() })
		began := time.Now()
		stop()
		wait()
		assert.Zero(t, time.Since(began))
	})
}

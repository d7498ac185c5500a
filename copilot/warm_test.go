package copilot_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
)

// keptWarm runs a test while the host keeps an agent warm.
func keptWarm(w *world, test func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	var warm sync.WaitGroup
	warm.Go(func() { w.host.KeepWarm(ctx) })
	synctest.Wait()
	test()
	cancel()
	warm.Wait()
}

func TestWarmAgentRunsWithoutSessions(t *testing.T) {
	inBubble(t, func(w *world) {
		keptWarm(w, func() {
			assert.Equal(t, 1, w.agents.Running())
			s := w.start()
			w.run(s, "first")
			require.NoError(t, s.Close())
			time.Sleep(time.Hour)
			assert.Equal(t, 1, w.agents.Running())
			assert.Equal(t, 1, w.agents.Count(fake.Launch))
		})
		time.Sleep(time.Minute)
		assert.Zero(t, w.agents.Running(), "it lingers afterwards like any other")
	})
}

func TestWarmAgentIsReplacedWhenItEnds(t *testing.T) {
	inBubble(t, func(w *world) {
		keptWarm(w, func() {
			time.Sleep(time.Hour)
			w.agents.Kill()
			time.Sleep(time.Minute)
			assert.Equal(t, 1, w.agents.Running())
		})
	})
}

func TestAgentThatEndsOrFailsAtOnceIsNotKeptWarm(t *testing.T) {
	inWorld(t, "ends", copilot.Options{}, func(w *world) {
		keptWarm(w, func() {
			w.agents.Kill()
			time.Sleep(time.Hour)
			assert.Equal(t, 1, w.agents.Count(fake.Launch))
		})
	})
	inWorld(t, "fails", copilot.Options{}, func(w *world) {
		w.agents.Before = func(context.Context, fake.Call) error { return errors.New("broken") }
		keptWarm(w, func() {
			time.Sleep(time.Hour)
			assert.Equal(t, 1, w.agents.Count(fake.Launch))
		})
	})
}

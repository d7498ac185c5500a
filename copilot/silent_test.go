package copilot_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestSilentAgent(t *testing.T) {
	inWorld(t, "its runs fail, and the next prompt resumes the conversation", copilot.Options{}, func(w *world) {
		s := w.start()
		w.run(s, "a")
		w.agents.Script = untilAborted
		w.run(s, "b")
		w.agents.Hang(1)
		wait(18 * time.Second)
		w.agents.Script = func(t *fake.Turn) {
			assert.Equal(w.t, []string{"a", "b"}, t.Past)
			fake.Echo(t)
		}
		w.run(s, "c")
		assert.Equal(w.t, []string{
			"r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			"r2 starts", "r2 user: b", "r2 says: I begin", "r2 failure (unavailable)", "r2 failed",
			"r3 starts", "r3 user: c", "r3 says: c", "r3 completed",
		}, story(w.t, s)[1:])
		assert.Equal(w.t, 1, w.agents.Running())
	})
	inWorld(t, "a session that could not be opened in time makes the pool check the process", copilot.Options{
		Pool: agent.PoolOptions{PingEvery: time.Hour},
	}, func(w *world) {
		s := w.start()
		w.agents.Before = fake.On(fake.Open, fake.HangForever)
		_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
		require.ErrorContains(w.t, err, "did not answer within 30s")
		synctest.Wait()
		assert.Equal(w.t, 2, w.agents.Count(fake.Ping), "one of the start, one of the pool")
		assert.Equal(w.t, copilot.StateIdle, s.Info().State, "only the opening hangs")
		w.agents.Before = nil
		w.agents.Hang(1)
		began := time.Now()
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		_, err = w.host.Start(ctx, copilot.Start{Directory: w.directory})
		require.ErrorIs(w.t, err, context.DeadlineExceeded)
		wait(13 * time.Second)
		w.run(s, "a")
		assert.Equal(w.t, 2, w.agents.Count(fake.Launch))
		assert.Less(w.t, time.Since(began), time.Minute)
	})
}

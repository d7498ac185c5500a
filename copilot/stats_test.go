package copilot_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

func TestStatsCountSessionsByState(t *testing.T) {
	inWorld(t, "from start to close", copilot.Options{MaxClosed: 1}, func(w *world) {
		none := map[copilot.State]int{copilot.StateIdle: 0, copilot.StateQueued: 0, copilot.StateRunning: 0, copilot.StateWaiting: 0, copilot.StateClosed: 0, copilot.StateElsewhere: 0}
		assert.Equal(t, none, w.host.Stats().Sessions)

		w.agents.Script = func(turn *fake.Turn) {
			if turn.Prompt == "long" {
				turn.Wait(time.Hour)
			}
		}
		s, other := w.start(), w.start()
		w.run(s, "short")
		w.prompt(s, "long")
		w.prompt(s, "later")
		synctest.Wait()
		stats := w.host.Stats()
		assert.Equal(t, 1, stats.Sessions[copilot.StateRunning])
		assert.Equal(t, 1, stats.Sessions[copilot.StateIdle])
		assert.Equal(t, 1, stats.Running)
		assert.Equal(t, 1, stats.Waiting)
		assert.Equal(t, uint64(2), stats.Started)
		assert.Equal(t, s.Record().Last()+other.Record().Last(), stats.Events)

		require.NoError(t, s.Cancel(""))
		synctest.Wait()
		other.Close()
		s.Close()
		stats = w.host.Stats()
		assert.Equal(t, map[event.Outcome]uint64{event.Completed: 2, event.Cancelled: 1, event.Failed: 0, event.Interrupted: 0}, stats.Ended)
		assert.Equal(t, 1, stats.Sessions[copilot.StateClosed], "one is listed")
		assert.Equal(t, s.Record().Last()+other.Record().Last(), stats.Events, "evicted sessions count, too")
		assert.Zero(t, stats.Running+stats.Waiting)
	})
}

func TestStatsCountReadersOfAllSessions(t *testing.T) {
	inBubble(t, func(w *world) {
		ctx, cancel := context.WithCancel(w.t.Context())
		for _, s := range []*copilot.Session{w.start(), w.start()} {
			go func() { _, _ = s.Record().Next(ctx, s.Record().Last(), 0) }()
		}
		synctest.Wait()
		assert.Equal(t, 2, w.host.Stats().Readers.Waiting)
		cancel()
		synctest.Wait()
		assert.Zero(t, w.host.Stats().Readers.Waiting)
	})
}

func TestStatsCountAgents(t *testing.T) {
	inBubble(t, func(w *world) {
		s := w.start()
		assert.Equal(t, agent.Stats{Running: 1, Starts: 1}, w.host.Stats().Agents)

		w.agents.Kill()
		w.awaitDeath()
		synctest.Wait()
		assert.Equal(t, agent.Stats{Starts: 1, Deaths: 1}, w.host.Stats().Agents)

		w.run(s, "again")
		assert.Equal(t, agent.Stats{Running: 1, Starts: 2, Deaths: 1}, w.host.Stats().Agents)

		s.Close()
		time.Sleep(time.Minute) // it lingers before it is stopped
		assert.Equal(t, agent.Stats{Starts: 2, Deaths: 1}, w.host.Stats().Agents, "a stopped process is not a death")

		w.agents.Before = func(context.Context, fake.Call) error { return errors.New("broken") }
		_, err := w.host.Models(w.t.Context())
		require.Error(t, err)
		assert.Equal(t, agent.Stats{Starts: 2, Deaths: 1, Failures: 1}, w.host.Stats().Agents)
	})
}

func TestStatsCountReplacedProcesses(t *testing.T) {
	inWorld(t, "a process that hangs is counted", copilot.Options{}, func(w *world) {
		w.start()
		w.agents.Hang(1)
		wait(time.Minute)
		assert.EqualValues(w.t, 1, w.host.Stats().Agents.Hangs)
	})
	inWorld(t, "a process that has grown too large is counted", copilot.Options{}, func(w *world) {
		w.start()
		w.agents.SetMemory(func(int) int64 { return 2 << 30 })
		wait(6 * time.Minute)
		assert.EqualValues(w.t, 1, w.host.Stats().Agents.Retired)
	})
	inWorld(t, "a run that waits for its slot is not running", copilot.Options{Limits: copilot.Limits{Runs: 1}}, func(w *world) {
		w.agents.Script = untilAborted
		w.run(w.start(), "a")
		w.run(w.start(), "b")
		stats := w.host.Stats()
		assert.Equal(w.t, 1, stats.Running)
		assert.Equal(w.t, 1, stats.Waiting)
	})
}

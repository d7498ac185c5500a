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
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestPoolWatch(t *testing.T) {
	tests := []struct {
		name    string
		options copilot.PoolOptions
		do      func(*basin)
	}{
		{"a process in use is asked every five seconds", copilot.PoolOptions{}, func(b *basin) {
			b.acquire()
			b.acquire()
			wait(time.Minute)
			assert.Equal(b.t, 12, b.agents.Count(copilottest.Ping), "once for all its leases")
			b.check(1, 1)
		}},
		{"as often as is wanted", copilot.PoolOptions{PingEvery: time.Second}, func(b *basin) {
			b.acquire()
			wait(time.Minute)
			assert.Equal(b.t, 60, b.agents.Count(copilottest.Ping))
		}},
		{"a process without leases is not asked", copilot.PoolOptions{Linger: time.Hour}, func(b *basin) {
			b.acquire().Release()
			wait(time.Minute)
			assert.Zero(b.t, b.agents.Count(copilottest.Ping))
		}},
		{"one that is silent for ten seconds is ended by force", copilot.PoolOptions{}, func(b *basin) {
			l := b.acquire()
			b.agents.Halt(1)
			wait(15 * time.Second) // until the ping, and the limit
			b.check(1, 1)
			wait(500 * time.Millisecond) // in which it might be found to have died
			b.check(1, 0)
			<-l.Agent.Done()
			b.acquire()
			b.check(2, 1)
		}},
		{"or for as long as is allowed", copilot.PoolOptions{SilenceLimit: time.Minute}, func(b *basin) {
			b.acquire()
			b.agents.Halt(1)
			wait(65 * time.Second)
			b.check(1, 1)
			wait(time.Second)
			b.check(1, 0)
		}},
		{"one that answers just in time stays", copilot.PoolOptions{}, func(b *basin) {
			b.acquire()
			b.agents.Watched(on(copilottest.Ping, func(context.Context, copilottest.Call) error {
				<-time.After(10*time.Second - time.Millisecond)
				return nil
			}))
			wait(10 * time.Minute)
			b.check(1, 1)
		}},
		{"one that computes may be silent six times as long", copilot.PoolOptions{}, func(b *basin) {
			b.acquire()
			b.agents.Engage(1)
			wait(5*time.Second + 60*time.Second)
			b.check(1, 1)
			wait(time.Second)
			b.check(1, 0)
		}},
		{"one that computes for a while stays", copilot.PoolOptions{}, func(b *basin) {
			b.acquire()
			b.agents.Engage(1)
			wait(50 * time.Second)
			b.agents.Resume(1)
			wait(time.Hour)
			b.check(1, 1)
		}},
		{"one whose connection broke is ended", copilot.PoolOptions{}, func(b *basin) {
			b.acquire()
			b.agents.Watched(on(copilottest.Ping, func(context.Context, copilottest.Call) error { return errors.New("no connection") }))
			wait(6 * time.Second)
			b.check(1, 0)
		}},
		{"one that dies by itself meanwhile is not ended", copilot.PoolOptions{}, func(b *basin) {
			b.acquire()
			b.agents.Dying = 300 * time.Millisecond
			b.agents.Watched(on(copilottest.Ping, func(_ context.Context, c copilottest.Call) error {
				b.agents.Kill(c.Process)
				return nil
			}))
			wait(time.Minute)
			b.check(1, 0)
			assert.Zero(b.t, b.agents.Count(copilottest.Stop))
		}},
		{"others are left alone", copilot.PoolOptions{Size: 2, PerProcess: 1}, func(b *basin) {
			b.acquire()
			other := b.acquire()
			b.agents.Halt(1)
			wait(time.Minute)
			b.check(2, 1)
			select {
			case <-other.Agent.Done():
				assert.Fail(b.t, "the wrong one was ended")
			default:
			}
		}},
		{"who doubts that it lives makes the pool look at once", copilot.PoolOptions{}, func(b *basin) {
			l := b.acquire()
			l.Suspect()
			synctest.Wait()
			assert.Equal(b.t, 1, b.agents.Count(copilottest.Ping))
			b.agents.Halt(1)
			for range 10 {
				l.Suspect()
			}
			wait(11 * time.Second)
			b.check(1, 0)
			l.Suspect() // is no fault
		}},
		{"closing ends one that is silent, in time", copilot.PoolOptions{}, func(b *basin) {
			b.acquire()
			b.agents.Halt(1)
			wait(10 * time.Second)
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			began := time.Now()
			b.pool.Close(ctx)
			assert.LessOrEqual(b.t, time.Since(began), time.Second)
			b.check(1, 0)
		}},
	}
	for _, tt := range tests {
		inPool(t, tt.name, tt.options, tt.do)
	}
}

func TestPoolRecycles(t *testing.T) {
	const limit = 1000
	options := copilot.PoolOptions{MemoryLimit: limit, MinAge: -1}
	grown := func(fat ...int) func(int) int64 {
		return func(process int) int64 {
			for _, n := range fat {
				if n == process {
					return limit + 1<<30
				}
			}
			return limit
		}
	}
	isRetired := func(l copilot.Lease) bool {
		select {
		case <-l.Retired:
			return true
		default:
			return false
		}
	}
	tests := []struct {
		name    string
		options copilot.PoolOptions
		do      func(*basin)
	}{
		{"a process at its limit stays", options, func(b *basin) {
			b.agents.SetMemory(grown())
			l := b.acquire()
			wait(time.Minute)
			assert.False(b.t, isRetired(l))
		}},
		{"one over its limit is retired, and takes nobody any more", options, func(b *basin) {
			b.agents.SetMemory(grown(1))
			old := b.acquire()
			wait(5 * time.Second)
			assert.True(b.t, isRetired(old))
			assert.NotSame(b.t, old.Agent, b.acquire().Agent)
			b.check(2, 2)
		}},
		{"it ends when the last has gone, without lingering", options, func(b *basin) {
			b.agents.SetMemory(grown(1))
			one, two := b.acquire(), b.acquire()
			wait(time.Hour)
			one.Release()
			b.check(1, 1)
			two.Release()
			b.check(1, 0)
		}},
		{"a second one that has grown as well takes all until the first has gone", options, func(b *basin) {
			b.agents.SetMemory(grown(1, 2))
			b.acquire()
			wait(5 * time.Second)
			second := b.acquire()
			wait(5 * time.Second)
			assert.True(b.t, isRetired(second))
			for range 10 {
				b.acquire()
			}
			b.check(2, 2)
		}},
		{"by default the limit is a gibibyte and what a session needs, after five minutes", copilot.PoolOptions{}, func(b *basin) {
			b.agents.SetMemory(func(int) int64 { return 1<<30 + 8<<20 + 1 })
			l := b.acquire()
			wait(5*time.Minute - 5*time.Second)
			assert.False(b.t, isRetired(l), "one that is so large from the start would be replaced again and again")
			wait(10 * time.Second)
			assert.True(b.t, isRetired(l))
		}},
		{"what many sessions need is not too much", options, func(b *basin) {
			b.agents.SetMemory(func(int) int64 { return 50 * 8 << 20 })
			l := b.acquire()
			for range 49 {
				b.acquire()
			}
			wait(time.Minute)
			assert.False(b.t, isRetired(l))
		}},
		{"a negative limit is none", copilot.PoolOptions{MemoryLimit: -1}, func(b *basin) {
			b.agents.SetMemory(func(int) int64 { return 1 << 50 })
			l := b.acquire()
			wait(time.Minute)
			assert.False(b.t, isRetired(l))
		}},
	}
	for _, tt := range tests {
		inPool(t, tt.name, tt.options, tt.do)
	}
}

func TestSilentAgent(t *testing.T) {
	inWorld(t, "its runs fail, and the next prompt goes on with what was said", copilot.Options{}, func(w *world) {
		s := w.start()
		w.run(s, "a")
		w.agents.Script = untilAborted
		w.run(s, "b")
		w.agents.Halt(1)
		wait(16 * time.Second)
		w.agents.Script = func(t *copilottest.Turn) {
			assert.Equal(w.t, []string{"a", "b"}, t.Past)
			copilottest.Echo(t)
		}
		w.run(s, "c")
		assert.Equal(w.t, []string{
			"r1 starts", "r1 user: a", "r1 says: a", "r1 completed",
			"r2 starts", "r2 user: b", "r2 says: I begin", "r2 failure (unavailable)", "r2 failed",
			"r3 starts", "r3 user: c", "r3 says: c", "r3 completed",
		}, story(w.t, s)[1:])
		assert.Equal(w.t, 1, w.agents.Running())
	})
	inWorld(t, "a session that could not be opened in time makes the pool look", copilot.Options{
		Pool: copilot.PoolOptions{PingEvery: time.Hour},
	}, func(w *world) {
		s := w.start()
		w.agents.Before = on(copilottest.Open, hang)
		_, err := w.host.Start(w.t.Context(), copilot.Start{Directory: w.directory})
		require.ErrorContains(w.t, err, "did not answer within 30s")
		synctest.Wait()
		assert.Equal(w.t, 2, w.agents.Count(copilottest.Ping), "of the start, which would be tried again, and of the pool")
		assert.Equal(w.t, copilot.StateIdle, s.Info().State, "it answers: only the opening hangs")
		w.agents.Before = nil
		w.agents.Halt(1)
		began := time.Now()
		ctx, cancel := context.WithTimeout(w.t.Context(), 10*time.Second)
		defer cancel()
		_, err = w.host.Start(ctx, copilot.Start{Directory: w.directory})
		require.ErrorIs(w.t, err, context.DeadlineExceeded)
		wait(11 * time.Second)
		w.run(s, "a")
		assert.Equal(w.t, 2, w.agents.Count(copilottest.Launch))
		assert.Less(w.t, time.Since(began), time.Minute)
	})
}

package agent_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
)

func TestPoolSupervisesProcesses(t *testing.T) {
	tests := []struct {
		name    string
		options agent.PoolOptions
		do      func(*poolTest)
	}{
		{"a process in use is pinged every five seconds", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.acquire()
			elapse(time.Minute)
			assert.Equal(b.t, 12, b.agents.Count(fake.Ping), "once for all its leases")
			b.check(1, 1)
		}},
		{"at the configured interval", agent.PoolOptions{PingEvery: time.Second}, func(b *poolTest) {
			b.acquire()
			elapse(time.Minute)
			assert.Equal(b.t, 60, b.agents.Count(fake.Ping))
		}},
		{"a process without leases is not pinged", agent.PoolOptions{Linger: time.Hour}, func(b *poolTest) {
			b.acquire().Release()
			elapse(time.Minute)
			assert.Zero(b.t, b.agents.Count(fake.Ping))
		}},
		{"a process that is silent for ten seconds is killed", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			b.agents.Hang(1)
			elapse(15 * time.Second) // until the ping and the limit
			b.check(1, 1)
			elapse(2 * time.Second) // the time for noticing its death
			b.check(1, 0)
			<-l.Agent.Done()
			b.acquire()
			b.check(2, 1)
		}},
		{"at the configured silence limit", agent.PoolOptions{SilenceLimit: time.Minute}, func(b *poolTest) {
			b.acquire()
			b.agents.Hang(1)
			elapse(65 * time.Second)
			b.check(1, 1)
			elapse(2 * time.Second)
			b.check(1, 0)
		}},
		{"a process that answers just in time stays", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.agents.BeforeProbe(fake.On(fake.Ping, func(context.Context, fake.Call) error {
				<-time.After(10*time.Second - time.Millisecond)
				return nil
			}))
			elapse(10 * time.Minute)
			b.check(1, 1)
		}},
		{"a computing process may be silent six times as long", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.agents.HaltBusy(1)
			elapse(5*time.Second + 60*time.Second)
			b.check(1, 1)
			elapse(2 * time.Second)
			b.check(1, 0)
		}},
		{"a process that computes for a while stays", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.agents.HaltBusy(1)
			elapse(50 * time.Second)
			b.agents.Resume(1)
			elapse(time.Hour)
			b.check(1, 1)
		}},
		{"a process with a broken connection is killed", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.agents.BeforeProbe(fake.On(fake.Ping, func(context.Context, fake.Call) error { return errors.New("no connection") }))
			elapse(7 * time.Second)
			b.check(1, 0)
		}},
		{"a process that the pool stops does not count as hanging", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.agents.BeforeProbe(fake.On(fake.Ping, func(context.Context, fake.Call) error { return errors.New("no connection") }))
			b.agents.Dying = 3 * time.Second
			elapse(4900 * time.Millisecond)
			go b.pool.Close(b.t.Context())
			elapse(2 * time.Second) // past a ping and the time for noticing its death
			assert.Zero(b.t, b.pool.Stats().Hangs)
		}},
		{"a process that dies meanwhile is not killed", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.agents.Dying = 1900 * time.Millisecond
			b.agents.BeforeProbe(fake.On(fake.Ping, func(_ context.Context, c fake.Call) error {
				b.agents.Kill(c.Process)
				return nil
			}))
			elapse(time.Minute)
			b.check(1, 0)
			assert.Zero(b.t, b.agents.Count(fake.Stop))
		}},
		{"other processes are not affected", agent.PoolOptions{Size: 2, PerProcess: 1}, func(b *poolTest) {
			b.acquire()
			other := b.acquire()
			b.agents.Hang(1)
			elapse(time.Minute)
			b.check(2, 1)
			select {
			case <-other.Agent.Done():
				assert.Fail(b.t, "the wrong process was killed")
			default:
			}
		}},
		{"Suspect makes the pool check at once", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			l.Suspect()
			synctest.Wait()
			assert.Equal(b.t, 1, b.agents.Count(fake.Ping))
			b.agents.Hang(1)
			for range 10 {
				l.Suspect()
			}
			elapse(12 * time.Second)
			b.check(1, 0)
			l.Suspect() // allowed after the end
		}},
		{"closing kills a silent process in time", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.agents.Hang(1)
			elapse(10 * time.Second)
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

func TestPoolRetiresLargeProcesses(t *testing.T) {
	const limit = 1000
	options := agent.PoolOptions{MemoryLimit: limit, MinAge: -1}
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
	isRetired := func(l agent.Lease) bool {
		select {
		case <-l.Retired:
			return true
		default:
			return false
		}
	}
	tests := []struct {
		name    string
		options agent.PoolOptions
		do      func(*poolTest)
	}{
		{"a process at its limit stays", options, func(b *poolTest) {
			b.agents.SetMemory(grown())
			l := b.acquire()
			elapse(time.Minute)
			assert.False(b.t, isRetired(l))
		}},
		{"a process over its limit is retired and takes no more leases", options, func(b *poolTest) {
			b.agents.SetMemory(grown(1))
			old := b.acquire()
			elapse(5 * time.Second)
			assert.True(b.t, isRetired(old))
			assert.NotSame(b.t, old.Agent, b.acquire().Agent)
			b.check(2, 2)
		}},
		{"it stops after the last lease, without lingering", options, func(b *poolTest) {
			b.agents.SetMemory(grown(1))
			one, two := b.acquire(), b.acquire()
			elapse(time.Hour)
			one.Release()
			b.check(1, 1)
			two.Release()
			b.check(1, 0)
		}},
		{"a second large process takes all leases until the first has ended", options, func(b *poolTest) {
			b.agents.SetMemory(grown(1, 2))
			b.acquire()
			elapse(5 * time.Second)
			second := b.acquire()
			elapse(5 * time.Second)
			assert.True(b.t, isRetired(second))
			for range 10 {
				b.acquire()
			}
			b.check(2, 2)
		}},
		{"the default limit is a gibibyte plus the need of a session, after five minutes", agent.PoolOptions{}, func(b *poolTest) {
			b.agents.SetMemory(func(int) int64 { return 1<<30 + 8<<20 + 1 })
			l := b.acquire()
			elapse(5*time.Minute - 5*time.Second)
			assert.False(b.t, isRetired(l), "a process that is large from the start must not be replaced repeatedly")
			elapse(10 * time.Second)
			assert.True(b.t, isRetired(l))
		}},
		{"the need of many sessions is below the limit", options, func(b *poolTest) {
			b.agents.SetMemory(func(int) int64 { return 50 * 8 << 20 })
			l := b.acquire()
			for range 49 {
				b.acquire()
			}
			elapse(time.Minute)
			assert.False(b.t, isRetired(l))
		}},
		{"a negative limit means no limit", agent.PoolOptions{MemoryLimit: -1}, func(b *poolTest) {
			b.agents.SetMemory(func(int) int64 { return 1 << 50 })
			l := b.acquire()
			elapse(time.Minute)
			assert.False(b.t, isRetired(l))
		}},
	}
	for _, tt := range tests {
		inPool(t, tt.name, tt.options, tt.do)
	}
}

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
)

// poolTest is a pool in a bubble of testing/synctest.
type poolTest struct {
	t      *testing.T
	agents *fake.Agents
	pool   *agent.Pool
}

func inPool(t *testing.T, name string, o agent.PoolOptions, test func(*poolTest)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			agents := fake.New()
			b := &poolTest{t: t, agents: agents, pool: agent.NewPool(agents.Launch, o)}
			defer agents.Close()
			defer func() {
				ctx, cancel := context.WithTimeout(context.Background(), time.Second)
				defer cancel()
				b.pool.Close(ctx)
			}()
			test(b)
		})
	})
}

func (b *poolTest) acquire() agent.Lease {
	b.t.Helper()
	l, err := b.pool.Acquire(b.t.Context())
	require.NoError(b.t, err)
	return l
}

func (b *poolTest) check(launches, running int) {
	b.t.Helper()
	synctest.Wait()
	assert.Equal(b.t, launches, b.agents.Count(fake.Launch), "processes started")
	assert.Equal(b.t, running, b.agents.Running(), "processes running")
}

// attempt is a call of Acquire on its own goroutine.
type attempt struct {
	lease agent.Lease
	err   error
	done  chan struct{}
}

func (b *poolTest) attempt(ctx context.Context) *attempt {
	a := &attempt{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.lease, a.err = b.pool.Acquire(ctx)
	}()
	return a
}

func (a *attempt) isDone() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// elapse lets virtual time pass.
func elapse(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func TestPoolStartsAndStopsProcesses(t *testing.T) {
	const linger = 10 * time.Second
	tests := []struct {
		name    string
		options agent.PoolOptions
		do      func(*poolTest)
	}{
		{"nothing is started before the first lease", agent.PoolOptions{}, func(b *poolTest) {
			b.check(0, 0)
		}},
		{"the first lease starts a process", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire()
			b.check(1, 1)
		}},
		{"a process stays while a lease is out", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			b.acquire()
			l.Release()
			elapse(time.Hour)
			b.check(1, 1)
		}},
		{"the process lingers after the last release", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire().Release()
			elapse(linger - time.Millisecond)
			b.check(1, 1)
		}},
		{"then it is stopped", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire().Release()
			elapse(linger)
			b.check(1, 0)
			assert.Equal(b.t, 1, b.agents.Count(fake.Stop))
		}},
		{"a lease during the linger time uses the same process and ends the linger time", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			l.Release()
			elapse(linger / 2)
			again := b.acquire()
			assert.Same(b.t, l.Agent, again.Agent)
			elapse(time.Hour)
			b.check(1, 1)
			again.Release()
			elapse(linger - time.Millisecond)
			b.check(1, 1)
			elapse(time.Millisecond)
			b.check(1, 0)
		}},
		{"a lease after the linger time starts a new process", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			l.Release()
			elapse(linger)
			assert.NotSame(b.t, l.Agent, b.acquire().Agent)
			b.check(2, 1)
		}},
		{"releasing twice counts once", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			b.acquire()
			l.Release()
			l.Release()
			elapse(time.Hour)
			b.check(1, 1)
		}},
		{"a negative linger stops the process at once", agent.PoolOptions{Linger: -1}, func(b *poolTest) {
			b.acquire().Release()
			b.check(1, 0)
		}},
		{"a lease while the old process is stopping starts a new one", agent.PoolOptions{Linger: -1}, func(b *poolTest) {
			b.agents.Before = fake.On(fake.Stop, fake.HangForever)
			l := b.acquire()
			l.Release()
			synctest.Wait()
			assert.NotSame(b.t, l.Agent, b.acquire().Agent)
			b.check(2, 2)
			elapse(time.Second) // the old process is killed now
			b.check(2, 1)
		}},
		{"a dead process is removed and replaced", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			b.agents.Kill()
			<-l.Agent.Done()
			assert.NotSame(b.t, l.Agent, b.acquire().Agent)
			b.check(2, 1)
		}},
		{"releasing the lease of a dead process does nothing", agent.PoolOptions{}, func(b *poolTest) {
			l := b.acquire()
			b.agents.Kill()
			synctest.Wait()
			l.Release()
			elapse(time.Hour)
			b.check(1, 0)
			assert.Zero(b.t, b.agents.Count(fake.Stop))
		}},
		{"a process that dies while lingering is not stopped", agent.PoolOptions{}, func(b *poolTest) {
			b.acquire().Release()
			b.agents.Kill()
			elapse(time.Hour)
			b.check(1, 0)
			assert.Zero(b.t, b.agents.Count(fake.Stop))
		}},
	}
	for _, tt := range tests {
		inPool(t, tt.name, tt.options, tt.do)
	}
}

func TestPoolStart(t *testing.T) {
	tests := []struct {
		name string
		do   func(*poolTest)
	}{
		{"a hundred concurrent first leases start one process", func(b *poolTest) {
			b.agents.Before = fake.SlowLaunch(time.Second)
			var all []*attempt
			for range 100 {
				all = append(all, b.attempt(b.t.Context()))
			}
			elapse(time.Second)
			for _, a := range all {
				<-a.done
				require.NoError(b.t, a.err)
				assert.Same(b.t, all[0].lease.Agent, a.lease.Agent)
			}
			b.check(1, 1)
		}},
		{"a failed start is the error of all its waiting callers", func(b *poolTest) {
			broken := errors.New("broken")
			b.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error {
				<-time.After(time.Second)
				return broken
			})
			var all []*attempt
			for range 10 {
				all = append(all, b.attempt(b.t.Context()))
			}
			elapse(time.Second)
			for _, a := range all {
				<-a.done
				require.ErrorIs(b.t, a.err, broken)
				assert.Equal(b.t, fault.Unavailable, fault.KindOf(a.err))
			}
			b.check(1, 0)
		}},
		{"a failed start is not remembered", func(b *poolTest) {
			b.agents.Before = fake.On(fake.Launch, func(_ context.Context, c fake.Call) error {
				if c.Process == 1 {
					return errors.New("broken")
				}
				return nil
			})
			_, err := b.pool.Acquire(b.t.Context())
			require.Error(b.t, err)
			b.acquire()
			b.check(2, 1)
		}},
		{"a hanging start fails after its time limit", func(b *poolTest) {
			b.agents.Before = fake.On(fake.Launch, fake.HangForever)
			a := b.attempt(b.t.Context())
			elapse(30*time.Second - time.Millisecond)
			assert.False(b.t, a.isDone())
			elapse(time.Millisecond)
			require.True(b.t, a.isDone())
			assert.Equal(b.t, fault.Unavailable, fault.KindOf(a.err))
			b.check(1, 0)
		}},
		{"a later caller waits no longer for a hanging start", func(b *poolTest) {
			b.agents.Before = fake.On(fake.Launch, fake.HangForever)
			b.attempt(b.t.Context())
			elapse(29 * time.Second)
			late := b.attempt(b.t.Context())
			elapse(time.Second)
			require.True(b.t, late.isDone())
			require.Error(b.t, late.err)
		}},
		{"a caller that gives up does not stop the start for the others", func(b *poolTest) {
			b.agents.Before = fake.SlowLaunch(5 * time.Second)
			ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
			defer cancel()
			hasty, patient := b.attempt(ctx), b.attempt(b.t.Context())
			elapse(time.Second)
			require.True(b.t, hasty.isDone())
			require.ErrorIs(b.t, hasty.err, context.DeadlineExceeded)
			assert.False(b.t, patient.isDone())
			elapse(4 * time.Second)
			require.True(b.t, patient.isDone())
			require.NoError(b.t, patient.err)
			elapse(time.Hour)
			b.check(1, 1)
		}},
		{"a process without waiting callers lingers and is stopped", func(b *poolTest) {
			b.agents.Before = fake.SlowLaunch(5 * time.Second)
			ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
			defer cancel()
			b.attempt(ctx)
			elapse(15*time.Second - time.Millisecond)
			b.check(1, 1)
			elapse(time.Millisecond)
			b.check(1, 0)
		}},
		{"and is leased by a caller while it lingers", func(b *poolTest) {
			b.agents.Before = fake.SlowLaunch(5 * time.Second)
			ctx, cancel := context.WithTimeout(b.t.Context(), time.Second)
			defer cancel()
			b.attempt(ctx)
			elapse(6 * time.Second)
			b.acquire()
			elapse(time.Hour)
			b.check(1, 1)
		}},
	}
	for _, tt := range tests {
		inPool(t, tt.name, agent.PoolOptions{}, tt.do)
	}
}

func TestPoolDistribution(t *testing.T) {
	tests := []struct {
		name             string
		size, perProcess int
		leases           int
		want             []int // leases of each process
	}{
		{"a process takes leases up to its limit", 3, 4, 4, []int{4}},
		{"the next lease starts a second process", 3, 4, 5, []int{4, 1}},
		{"each process is filled before the next starts", 3, 4, 12, []int{4, 4, 4}},
		{"when all processes are full, the emptiest takes more", 3, 4, 17, []int{6, 6, 5}},
		{"a single process takes everything", 1, 2, 7, []int{7}},
		{"by default one process takes everything", 0, 0, 120, []int{120}},
	}
	for _, tt := range tests {
		inPool(t, tt.name, agent.PoolOptions{Size: tt.size, PerProcess: tt.perProcess}, func(b *poolTest) {
			count := map[agent.Agent]int{}
			var order []agent.Agent
			for range tt.leases {
				a := b.acquire().Agent
				if count[a]++; count[a] == 1 {
					order = append(order, a)
				}
			}
			var got []int
			for _, a := range order {
				got = append(got, count[a])
			}
			assert.Equal(b.t, tt.want, got)
			b.check(len(tt.want), len(tt.want))
		})
	}

	inPool(t, "a released lease makes room", agent.PoolOptions{Size: 2, PerProcess: 2}, func(b *poolTest) {
		first := b.acquire()
		b.acquire()
		b.acquire()
		first.Release()
		assert.Same(b.t, first.Agent, b.acquire().Agent)
		b.check(2, 2)
	})
	inPool(t, "a dead process does not count as running", agent.PoolOptions{Size: 2, PerProcess: 1}, func(b *poolTest) {
		first, second := b.acquire(), b.acquire()
		b.agents.Kill(1)
		<-first.Agent.Done()
		third := b.acquire()
		assert.NotSame(b.t, second.Agent, third.Agent)
		b.check(3, 2)
	})
	inPool(t, "an unused process is stopped while others continue", agent.PoolOptions{Size: 2, PerProcess: 1}, func(b *poolTest) {
		b.acquire()
		b.acquire().Release()
		elapse(10 * time.Second)
		b.check(2, 1)
	})
}

func TestPoolClose(t *testing.T) {
	background := context.Background()
	tests := []struct {
		name string
		do   func(*poolTest)
	}{
		{"closing an unused pool does nothing", func(b *poolTest) {
			b.pool.Close(background)
			b.check(0, 0)
		}},
		{"nothing can be leased afterwards", func(b *poolTest) {
			b.pool.Close(background)
			_, err := b.pool.Acquire(b.t.Context())
			require.ErrorIs(b.t, err, fault.ErrStopping)
			b.check(0, 0)
		}},
		{"closing stops a process that is in use", func(b *poolTest) {
			l := b.acquire()
			b.pool.Close(background)
			<-l.Agent.Done()
			b.check(1, 0)
			l.Release()
			elapse(time.Hour)
			assert.Equal(b.t, 1, b.agents.Count(fake.Stop))
		}},
		{"closing stops a process that lingers", func(b *poolTest) {
			b.acquire().Release()
			b.pool.Close(background)
			b.check(1, 0)
			elapse(time.Hour)
			assert.Equal(b.t, 1, b.agents.Count(fake.Stop))
		}},
		{"closing cancels a start", func(b *poolTest) {
			b.agents.Before = fake.On(fake.Launch, fake.HangForever)
			a := b.attempt(b.t.Context())
			synctest.Wait()
			began := time.Now()
			b.pool.Close(background)
			assert.Zero(b.t, time.Since(began))
			<-a.done
			require.ErrorIs(b.t, a.err, fault.ErrStopping)
			b.check(1, 0)
		}},
		{"closing stops a process whose start could not be cancelled", func(b *poolTest) {
			b.agents.Before = fake.On(fake.Launch, func(context.Context, fake.Call) error {
				<-time.After(time.Second)
				return nil
			})
			a := b.attempt(b.t.Context())
			synctest.Wait()
			b.pool.Close(background)
			<-a.done
			b.check(1, 0)
		}},
		{"closing waits for a process that is being stopped", func(b *poolTest) {
			b.agents.Before = fake.On(fake.Stop, fake.HangForever)
			l := b.acquire()
			l.Release()
			elapse(10*time.Second + 500*time.Millisecond)
			b.pool.Close(background)
			select {
			case <-l.Agent.Done():
			default:
				assert.Fail(b.t, "the process is still running")
			}
		}},
		{"the context of Close limits the graceful stop of processes", func(b *poolTest) {
			b.agents.Before = fake.On(fake.Stop, fake.HangForever)
			b.acquire()
			ctx, cancel := context.WithTimeout(background, 3*time.Second)
			defer cancel()
			began := time.Now()
			b.pool.Close(ctx)
			assert.Equal(b.t, 3*time.Second, time.Since(began))
			b.check(1, 0)
		}},
		{"a second Close does nothing", func(b *poolTest) {
			b.acquire()
			b.pool.Close(background)
			b.pool.Close(background)
			b.check(1, 0)
		}},
		{"concurrent calls of Close return when everything has ended", func(b *poolTest) {
			b.agents.Dying = time.Second
			b.acquire()
			var all sync.WaitGroup
			for range 10 {
				all.Go(func() {
					b.pool.Close(background)
					assert.Zero(b.t, b.agents.Running())
				})
			}
			all.Wait()
		}},
		{"closing while a process dies waits until it has died", func(b *poolTest) {
			b.agents.Dying = time.Second
			b.acquire()
			b.agents.Kill()
			b.pool.Close(background)
			assert.Zero(b.t, b.agents.Running())
		}},
	}
	for _, tt := range tests {
		inPool(t, tt.name, agent.PoolOptions{}, tt.do)
	}
}

// A release, a lease and another release at the moment when the linger time ends must not shorten the second linger
// time.
func TestPoolLingersFullTimeAgain(t *testing.T) {
	for range 200 { // the scheduler decides which comes first
		synctest.Test(t, func(t *testing.T) {
			agents := fake.New()
			defer agents.Close()
			pool := agent.NewPool(agents.Launch, agent.PoolOptions{})
			defer pool.Close(context.Background())
			b := &poolTest{t: t, agents: agents, pool: pool}
			b.acquire().Release()
			<-time.After(10 * time.Second) // the process may be stopped now
			l := b.acquire()
			l.Release()
			elapse(10*time.Second - time.Millisecond)
			select {
			case <-l.Agent.Done():
				assert.Fail(t, "the process was stopped early")
			default:
			}
		})
	}
}

func TestPoolUnderLoad(t *testing.T) {
	inPool(t, "leases, deaths and failures in any order leave nothing behind", agent.PoolOptions{Size: 3, PerProcess: 5, Linger: time.Second}, func(b *poolTest) {
		b.agents.Before = func(ctx context.Context, c fake.Call) error {
			if c.Method == fake.Launch && c.Process%5 == 0 {
				return errors.New("every fifth fails")
			}
			return fake.SlowLaunch(100*time.Millisecond)(ctx, c)
		}
		var users sync.WaitGroup
		for i := range 50 {
			users.Go(func() {
				for j := range 50 {
					ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*10*time.Millisecond)
					if l, err := b.pool.Acquire(ctx); err == nil {
						<-time.After(time.Duration(j*7%30) * time.Millisecond)
						l.Release()
					}
					cancel()
				}
			})
		}
		users.Go(func() {
			for i := range 20 {
				<-time.After(50 * time.Millisecond)
				b.agents.Kill(i)
			}
		})
		users.Wait()
		elapse(2 * time.Second)
		assert.Zero(b.t, b.agents.Running(), "a lease was lost")
		b.agents.Before = nil
		b.acquire().Release() // the pool still starts processes
	})
}

func TestProcessWithoutDirectoryTakesNoneFromTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		defer agents.Close()
		pool := agent.NewDividedPool(func(ctx context.Context, _ string) (agent.Agent, error) { return agents.Launch(ctx) }, agent.PoolOptions{})
		defer pool.Close(context.Background())
		for i := range agent.MaxDirectories {
			_, err := pool.AcquireIn(t.Context(), fmt.Sprint("/", i))
			require.NoError(t, err)
		}
		_, err := pool.AcquireIn(t.Context(), "/too/many")
		assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
		_, err = pool.Acquire(t.Context())
		require.NoError(t, err)
	})
}

func TestDividedPoolHasProcessesForEachDirectory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		defer agents.Close()
		var started []string
		pool := agent.NewDividedPool(func(ctx context.Context, directory string) (agent.Agent, error) {
			started = append(started, directory)
			return agents.Launch(ctx)
		}, agent.PoolOptions{})
		defer pool.Close(context.Background())
		acquire := func(directory string) (agent.Lease, error) { return pool.AcquireIn(t.Context(), directory) }
		one, err := acquire("/one")
		require.NoError(t, err)
		again, err := acquire("/one")
		require.NoError(t, err)
		assert.Same(t, one.Agent, again.Agent)
		two, err := acquire("/two")
		require.NoError(t, err)
		assert.NotSame(t, one.Agent, two.Agent)
		_, err = pool.Acquire(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []string{"/one", "/two", ""}, started)
		for i := range agent.MaxDirectories - 2 {
			_, err := acquire(fmt.Sprint("/more/", i))
			require.NoError(t, err)
		}
		_, err = acquire("/too/many")
		assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
		two.Release()
		time.Sleep(time.Second)
		one.Release()
		again.Release()
		_, err = acquire("/one more")
		require.NoError(t, err, "an unused process makes room")
		select {
		case <-two.Agent.Done():
		case <-one.Agent.Done():
			assert.Fail(t, "another process has been unused for longer")
		}
		kept, err := acquire("/one")
		require.NoError(t, err)
		assert.Same(t, one.Agent, kept.Agent)
		_, err = acquire("/too/many")
		assert.Equal(t, fault.Busy, fault.KindOf(err), "%v", err)
	})
}

package agent

import (
	"context"
	"sync/atomic"
)

// Stats counts agent processes.
type Stats struct {
	Running  int    // current number of processes
	Starts   uint64 // successful starts
	Failures uint64 // failed starts
	Deaths   uint64 // unexpected ends
	Hangs    uint64 // processes killed because they did not answer
	Retired  uint64 // processes replaced because of their memory
}

// Plus returns the sums of the counters.
func (s Stats) Plus(other Stats) Stats {
	return Stats{
		Running: s.Running + other.Running, Starts: s.Starts + other.Starts, Failures: s.Failures + other.Failures,
		Deaths: s.Deaths + other.Deaths, Hangs: s.Hangs + other.Hangs, Retired: s.Retired + other.Retired,
	}
}

// Stats returns the counters of the pool. It is safe for concurrent use.
func (p *Pool) Stats() Stats {
	c := &p.counts
	return Stats{
		Running: int(c.running.Load()), Starts: c.starts.Load(), Failures: c.failures.Load(), Deaths: c.deaths.Load(),
		Hangs: c.hangs.Load(), Retired: c.retired.Load(),
	}
}

// counts are the counters behind [Pool.Stats].
type counts struct {
	running                                  atomic.Int64
	starts, failures, deaths, hangs, retired atomic.Uint64
}

// launch wraps a launch and counts its processes.
func (c *counts) launch(start LaunchIn) LaunchIn {
	return func(ctx context.Context, directory string) (Agent, error) {
		a, err := start(ctx, directory)
		if err != nil {
			c.failures.Add(1)
			return nil, err
		}
		c.starts.Add(1)
		c.running.Add(1)
		counted := &countedAgent{Agent: a}
		go func() {
			<-a.Done()
			c.running.Add(-1)
			if !counted.stopped.Load() {
				c.deaths.Add(1)
			}
		}()
		return counted, nil
	}
}

// countedAgent distinguishes stopping from dying.
type countedAgent struct {
	Agent

	stopped atomic.Bool
}

// Stop stops the process.
func (a *countedAgent) Stop(ctx context.Context) {
	if !IsClosed(a.Done()) {
		a.stopped.Store(true)
	}
	a.Agent.Stop(ctx)
}

package agent

import (
	"context"
	"sync/atomic"
)

// Stats counts agent processes.
type Stats struct {
	Running  int    // processes, now
	Starts   uint64 // that went well, ever
	Failures uint64 // starts that did not, ever
	Deaths   uint64 // processes that ended without being told to, ever
	Hangs    uint64 // that did not answer and were ended by force, ever
	Retired  uint64 // that had grown too much and were replaced, ever
}

// Stats counts the processes of the pool. It may be called at any time.
func (p *Pool) Stats() Stats {
	c := &p.counts
	return Stats{
		Running: int(c.running.Load()), Starts: c.starts.Load(), Failures: c.failures.Load(), Deaths: c.deaths.Load(),
		Hangs: c.hangs.Load(), Retired: c.retired.Load(),
	}
}

// counts are the numbers behind [Pool.Stats].
type counts struct {
	running                                  atomic.Int64
	starts, failures, deaths, hangs, retired atomic.Uint64
}

// launch counts the processes that another launch starts.
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

// countedAgent knows whether its process was stopped or died.
type countedAgent struct {
	Agent

	stopped atomic.Bool
}

// Stop ends the process.
func (a *countedAgent) Stop(ctx context.Context) {
	if !IsClosed(a.Done()) {
		a.stopped.Store(true)
	}
	a.Agent.Stop(ctx)
}

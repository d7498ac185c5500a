package copilot

import (
	"context"
	"sync/atomic"

	"github.com/copilot-portal/portal/copilot/journal"
)

// Stats is what a host has done since it was made, and what it does now. Numbers
// that change while they are collected need not fit each other exactly.
type Stats struct {
	Sessions map[State]int // those that are listed; every state has an entry
	Running  int           // runs at work
	Waiting  int           // prompts that wait for their run
	Started  uint64        // runs, ever
	Ended    map[Outcome]uint64
	Events   uint64 // that were recorded, ever
	Readers  journal.Readers
	Agents   AgentStats
}

// AgentStats counts agent processes.
type AgentStats struct {
	Running  int    // processes, now
	Starts   uint64 // that went well, ever
	Failures uint64 // starts that did not, ever
	Deaths   uint64 // processes that ended without being told to, ever
	Hangs    uint64 // that did not answer and were ended by force, ever
	Retired  uint64 // that had grown too much and were replaced, ever
}

// Stats collects the numbers. It takes time in proportion to the listed
// sessions, and the lock of each for a moment; what is counted meanwhile costs
// next to nothing.
func (h *Host) Stats() Stats {
	c := &h.counts
	s := Stats{
		Sessions: map[State]int{StateIdle: 0, StateQueued: 0, StateRunning: 0, StateWaiting: 0, StateClosed: 0, StateElsewhere: 0},
		Started:  c.started.Load(),
		Ended: map[Outcome]uint64{
			Completed: c.completed.Load(), Failed: c.failed.Load(),
			Cancelled: c.cancelled.Load(), Interrupted: c.interrupted.Load(),
		},
		Events:  c.events.Load(),
		Readers: c.readers.Readers(),
		Agents: AgentStats{
			Running: int(c.agents.Load()), Starts: c.starts.Load(), Failures: c.failures.Load(), Deaths: c.deaths.Load(),
			Hangs: h.pool.hangs.Load(), Retired: h.pool.retirements.Load(),
		},
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, session := range h.sessions {
		session.addTo(&s)
	}
	return s
}

func (s *Session) addTo(total *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	total.Sessions[s.state()]++
	total.Waiting += len(s.queue)
	switch {
	case s.run == nil:
	case s.run.queued:
		total.Waiting++
	default:
		total.Running++
	}
}

// counts are what cannot be seen by looking at the sessions.
type counts struct {
	started, completed, failed, cancelled, interrupted atomic.Uint64 // runs
	events                                             atomic.Uint64
	readers                                            journal.Meter
	agents                                             atomic.Int64
	starts, failures, deaths                           atomic.Uint64 // of agents
}

func (c *counts) end(o Outcome) {
	switch o {
	case Completed:
		c.completed.Add(1)
	case Failed:
		c.failed.Add(1)
	case Cancelled:
		c.cancelled.Add(1)
	case Interrupted:
		c.interrupted.Add(1)
	}
}

// launch counts the agents that another launch starts.
func (c *counts) launchIn(start LaunchIn) LaunchIn {
	return func(ctx context.Context, directory string) (Agent, error) {
		return c.launch(func(ctx context.Context) (Agent, error) { return start(ctx, directory) })(ctx)
	}
}

func (c *counts) launch(start Launch) Launch {
	return func(ctx context.Context) (Agent, error) {
		a, err := start(ctx)
		if err != nil {
			c.failures.Add(1)
			return nil, err
		}
		c.starts.Add(1)
		c.agents.Add(1)
		counted := &countedAgent{Agent: a}
		go func() {
			<-a.Done()
			c.agents.Add(-1)
			if !counted.told.Load() {
				c.deaths.Add(1)
			}
		}()
		return counted, nil
	}
}

// countedAgent knows whether its process was told to end.
type countedAgent struct {
	Agent

	told atomic.Bool
}

// Stop ends the process.
func (a *countedAgent) Stop(ctx context.Context) {
	if !isClosed(a.Done()) {
		a.told.Store(true)
	}
	a.Agent.Stop(ctx)
}

package copilot

import (
	"sync/atomic"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/session"
)

// Stats are the current and total numbers of a host. They may be slightly inconsistent, because they change while they are collected.
type Stats struct {
	Sessions map[State]int // in memory; every state has an entry
	Running  int           // working runs
	Waiting  int           // queued prompts
	Started  uint64        // runs in total
	Ended    map[event.Outcome]uint64
	Events   uint64 // recorded in total
	Readers  journal.Readers
	Agents   agent.Stats // of all agents
}

// Stats collects the numbers. It briefly acquires the lock of each session in memory.
func (h *Host) Stats() Stats {
	c := &h.counts
	s := Stats{
		Sessions: map[State]int{StateIdle: 0, StateQueued: 0, StateRunning: 0, StateWaiting: 0, StateClosed: 0, StateElsewhere: 0},
		Started:  c.started.Load(),
		Ended: map[event.Outcome]uint64{
			event.Completed: c.completed.Load(), event.Failed: c.failed.Load(),
			event.Cancelled: c.cancelled.Load(), event.Interrupted: c.interrupted.Load(),
		},
		Events:  c.events.Load(),
		Readers: c.readers.Readers(),
		Agents:  h.agentStats(),
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, session := range h.sessions {
		session.addTo(&s)
	}
	return s
}

func (h *Host) agentStats() (total agent.Stats) {
	for _, p := range h.agents {
		total = total.Plus(p.pool.Stats())
	}
	return total
}

func (s *Session) addTo(total *Stats) {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.state()
	if s.owner.process != 0 {
		state = StateElsewhere
	}
	total.Sessions[state]++
	total.Waiting += len(s.machine.Queue())
	switch r := s.machine.Run(); {
	case r == nil:
	case r.Phase() == session.AwaitingSlot:
		total.Waiting++
	default:
		total.Running++
	}
}

// tally counts what the sessions themselves do not show.
type tally struct {
	started, completed, failed, cancelled, interrupted atomic.Uint64 // runs
	events                                             atomic.Uint64
	readers                                            journal.Meter
}

func (c *tally) end(o event.Outcome) {
	switch o {
	case event.Completed:
		c.completed.Add(1)
	case event.Failed:
		c.failed.Add(1)
	case event.Cancelled:
		c.cancelled.Add(1)
	case event.Interrupted:
		c.interrupted.Add(1)
	}
}

// Load returns how many sessions are open and how many runs work.
func (h *Host) Load() (open, runs int) {
	h.mu.Lock()
	open = h.open
	h.mu.Unlock()
	return open, h.Stats().Running
}

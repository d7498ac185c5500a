package agent

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// endTimeout is how long a process that does not answer may take to end by itself, with all that it started, before it counts as
// hanging.
const endTimeout = 2 * time.Second

// silenceSteps is the number of steps in which a silence is measured. The portal counts its own steps instead
// of the time: if the portal itself was halted or starved, the time is over when it wakes up, although it
// never listened.
const silenceSteps = 10

// busyLimits is how many limits in a row a process may be silent while it computes. It has a single thread,
// so a long history, garbage collection or a loaded machine can make it silent, and killing it would end the
// runs of all its sessions. Only a process in an endless loop stays silent for longer.
const busyLimits = 6

// checkNow makes watch check the process at once.
func (m *member) checkNow() {
	select {
	case m.suspect <- struct{}{}:
	default: // it will check anyway
	}
}

// watch supervises a process until it ends: whether it answers, and how much memory it uses.
func (p *Pool) watch(m *member) {
	every := time.NewTicker(p.options.PingEvery)
	defer every.Stop()
	for {
		doubted := false
		select {
		case <-m.agent.Done():
			return
		case <-every.C:
		case <-m.suspect:
			doubted = true
		}
		if (doubted || p.isLeased(m)) && !p.isAlive(m) {
			p.replace(m)
			return
		}
		p.checkMemory(m)
	}
}

func (p *Pool) isLeased(m *member) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return m.leases > 0
}

// isAlive reports whether a process appears to be alive.
func (p *Pool) isAlive(m *member) bool {
	for range busyLimits {
		err := p.ping(m)
		if err == nil || IsClosed(m.agent.Done()) {
			return true
		}
		if fault.KindOf(err) != fault.Busy {
			return false
		}
		p.options.Log.Warn("the agent's process is busy and does not answer", "for", p.options.SilenceLimit)
	}
	return false
}

// ping waits for a sign of life of a process, for at most the silence limit.
func (p *Pool) ping(m *member) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	answer := make(chan error, 1)
	go func() { answer <- m.agent.Ping(ctx) }()
	step := time.NewTicker(p.options.SilenceLimit / silenceSteps)
	defer step.Stop()
	for range silenceSteps {
		select {
		case err := <-answer:
			return err
		case <-step.C: // one step at a time, however much time has passed
		}
	}
	cancel()
	return <-answer
}

// replace kills a process. Its sessions notice that like any death, and continue with another process.
func (p *Pool) replace(m *member) {
	select {
	case <-m.agent.Done(): // the connection breaks before the process and all that it started have ended
		return
	case <-time.After(endTimeout):
	}
	leases, removed := p.removeHung(m)
	if !removed {
		return
	}
	p.options.Log.Error("the agent's process does not answer and will be killed", "for", p.options.SilenceLimit, "sessions", leases)
	stopWithin(m.agent, 0)
}

// removeHung removes a process that hangs, so that it gets no new leases; false if it has ended, or the pool itself has closed its connection.
func (p *Pool) removeHung(m *member) (leases int, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.stopping || m.dead() {
		return 0, false
	}
	m.stopping = true
	p.stats.Hangs++
	p.remove(m)
	return m.leases, true
}

// sessionMemory is how much a session may add to the memory of a process, in bytes; 4 to 5 MiB were measured.
// Thus the limit applies to memory that belongs to no session.
const sessionMemory = 8 << 20

// checkMemory retires a process that has grown too much, because it never returns memory. It keeps young
// processes: otherwise, one whose successor is as large would be replaced again and again.
func (p *Pool) checkMemory(m *member) {
	limit := p.options.MemoryLimit
	if limit < 0 || IsClosed(m.retired) {
		return
	}
	if time.Since(m.since) < p.options.MinAge {
		return
	}
	size := m.agent.Memory()
	p.mu.Lock()
	defer p.mu.Unlock()
	if limit += int64(m.leases) * sessionMemory; size <= limit {
		return
	}
	p.options.Log.Info("the agent's process uses too much memory and will be replaced when its sessions are idle",
		"bytes", size, "limit", limit, "sessions", m.leases)
	p.stats.Retired++
	close(m.retired)
}

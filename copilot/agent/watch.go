package agent

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// DeathTimeout is how long a process may take to end once its connection has broken.
const DeathTimeout = 500 * time.Millisecond

// silenceSteps is in how many steps a silence is measured. The portal counts
// its own steps and not the time: one that was itself halted, or did not get
// the processor, wakes up to a time that is over though it never listened.
const silenceSteps = 10

// busyLimits is how many limits in a row a process may be silent while it
// computes. It has one thread for everything: a long history, a collection of
// garbage or a loaded machine make it silent, and killing it for that would
// cost all its sessions their runs. Only one that is caught in a loop stays so.
const busyLimits = 6

func (o PoolOptions) withWatchDefaults() PoolOptions {
	if o.PingEvery <= 0 {
		o.PingEvery = 5 * time.Second
	}
	if o.SilenceLimit <= 0 {
		o.SilenceLimit = 10 * time.Second
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = 1 << 30
	}
	if o.MinAge == 0 {
		o.MinAge = 5 * time.Minute
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

func newMember(cancel context.CancelFunc) *member {
	return &member{
		ready: make(chan struct{}), cancel: cancel,
		suspect: make(chan struct{}, 1), retired: make(chan struct{}),
	}
}

// checkNow makes watch look at once.
func (m *member) checkNow() {
	select {
	case m.suspect <- struct{}{}:
	default: // it will look anyway
	}
}

// watch looks after a process until it has ended: whether it answers, and how
// much memory it holds.
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

// isAlive says whether a process lives, as far as anybody can tell.
func (p *Pool) isAlive(m *member) bool {
	for range busyLimits {
		err := p.ping(m)
		if err == nil || IsClosed(m.agent.Done()) {
			return true
		}
		if fault.KindOf(err) != fault.Busy {
			return false
		}
		p.options.Log.Warn("the agent's process computes and does not answer", "for", p.options.SilenceLimit)
	}
	return false
}

// ping asks a process for a sign of life, for as long as it may be silent.
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
		case <-step.C: // one at a time, however much time has passed
		}
	}
	cancel()
	return <-answer
}

// replace ends a process by force. Its sessions learn it as they learn of any
// death, and go on with another one.
func (p *Pool) replace(m *member) {
	select {
	case <-m.agent.Done(): // the connection breaks a little before the process ends
		return
	case <-time.After(DeathTimeout):
	}
	p.mu.Lock()
	leases := m.leases
	p.remove(m) // nobody joins it any more
	p.mu.Unlock()
	p.options.Log.Error("the agent's process does not answer and is ended by force", "for", p.options.SilenceLimit, "sessions", leases)
	p.counts.hangs.Add(1)
	stopWithin(m.agent, 0)
}

// sessionMemory is what a session may add to a process that is not too large, in
// bytes; seen were 4 to 5 MiB. With it the limit is about what does not belong to
// any session any more.
const sessionMemory = 8 << 20

// checkMemory retires a process that has grown too much: it never gives memory back. A
// young one stays, or one whose successor is as large would be replaced again and
// again.
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
	p.options.Log.Info("the agent's process has grown too large and is replaced when it is at rest",
		"bytes", size, "limit", limit, "sessions", m.leases)
	p.counts.retired.Add(1)
	close(m.retired)
}

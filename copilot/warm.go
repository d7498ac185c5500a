package copilot

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
)

// minWarmLife is how long an idle agent must run to be replaced when it ends: otherwise the next one would end as well.
const minWarmLife = time.Minute

// KeepWarm keeps a process of the first agent running until ctx is done, so that no session waits for one to start. After a failed start
// it returns: the next session starts an agent as usual and reports the failure. In a sandbox it returns at once, because
// each directory has its own processes there.
func (h *Host) KeepWarm(ctx context.Context) {
	if h.first().Divided() || h.Health().State == agent.HealthMissing {
		return
	}
	for h.holdWarm(ctx) {
	}
}

// holdWarm leases an agent until it ends or should be replaced, and reports whether another one should be started.
func (h *Host) holdWarm(ctx context.Context) bool {
	lease, err := h.first().Acquire(ctx)
	if err != nil {
		return false
	}
	defer lease.Release()
	began := time.Now()
	_, _ = lease.Agent.Models(ctx) // the agent keeps them for its first session; an error is reported there
	select {
	case <-lease.Retired:
		return true
	case <-lease.Agent.Done():
		return time.Since(began) >= minWarmLife
	case <-ctx.Done():
		return false
	}
}

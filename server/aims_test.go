package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// The limits are far above the real costs: benchmarks measure those, and this test only detects regressions.
// The best of a few starts counts, because the machine may be busy.
const (
	startLimit = time.Second
	idleLimit  = 56 << 20 // bytes
	starts     = 5
)

func TestPortalStartsFastAndIdlesSmall(t *testing.T) {
	best := time.Hour
	for range starts {
		begin := testclock.Now()
		p := portaltest.Start(t, portaltest.Options{})
		status, _ := p.Do("GET", "/health", "")
		took := begin.Elapsed()
		assert.Equal(t, 200, status)
		assert.Less(t, scrapeOf(t, p).value("process_resident_memory_bytes"), idleLimit)
		p.Stop()
		if best = min(best, took); best < startLimit {
			break
		}
	}
	assert.Less(t, best, startLimit)
}

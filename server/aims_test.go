package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/server/portaltest"
)

// What starting and resting may cost, far above what it does: the benchmarks
// measure, this only guards against a lapse. The best of a few starts counts, for
// a machine may be busy.
const (
	startLimit = time.Second
	idleLimit  = 56 << 20 // bytes
	starts     = 5
)

func TestPortalStartsFastAndIdlesSmall(t *testing.T) {
	best := time.Hour
	for range starts {
		begin := portaltest.Now()
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

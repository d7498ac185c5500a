package server_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// The limits are far above the real costs: benchmarks measure those, and this test only detects regressions.
// The best of a few starts counts, because the machine may be busy.
const (
	startLimit = time.Second
	starts     = 5

	idleLimit   = 40 << 20 // bytes, once the portal has returned what only its start needed
	settleLimit = 30 * time.Second
	settleEvery = 200 * time.Millisecond

	manyConnections = 1000
	keptLimit       = 10 << 20 // bytes, of those that they took
)

func TestPortalStartsFastAndIdlesSmall(t *testing.T) {
	best := time.Hour
	for range starts {
		begin := testclock.Now()
		p := portaltest.Start(t, portaltest.Options{})
		status, _ := p.Do("GET", "/health", "")
		took := begin.Elapsed()
		assert.Equal(t, 200, status)
		if best = min(best, took); best < startLimit {
			assert.Eventually(t, func() bool {
				return scrapeOf(t, p).value("process_resident_memory_bytes") < idleLimit
			}, settleLimit, settleEvery, "the portal keeps more memory than an idle one needs")
			break
		}
		p.Stop()
	}
	assert.Less(t, best, startLimit)
}

func TestMemoryOfClosedConnectionsIsReturned(t *testing.T) {
	p := portaltest.Start(t, portaltest.Options{})
	resident := func() int { return scrapeOf(t, p).value("process_resident_memory_bytes") }
	require.Eventually(t, func() bool { return resident() < idleLimit }, settleLimit, settleEvery)
	before := resident()
	var all []*contract.Socket
	for range manyConnections {
		conn, _ := dial(t, p.URL, "/ui", nil)
		all = append(all, conn)
	}
	with := resident()
	for _, c := range all {
		require.NoError(t, c.Close())
	}
	assert.Eventually(t, func() bool { return resident() < before+keptLimit }, settleLimit, settleEvery, "%d before, %d with connections", before, with)
	assert.Greater(t, with, before+keptLimit)
}

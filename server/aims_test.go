package server_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// The limits are far above the real costs: benchmarks measure those, and this test only detects regressions.
// The best of a few starts counts, because the machine may be busy.
const (
	startLimit = time.Second
	starts     = 5

	idleLimit   = 40 << 20 // bytes, once the portal has returned what only its start needed
	settleLimit = 30 * time.Second
	settleEvery = 200 * time.Millisecond

	crowd = 1000     // connections
	left  = 10 << 20 // bytes that they may leave behind
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
	var all []net.Conn
	for range crowd {
		all = append(all, upgraded(t, p))
	}
	with := resident()
	for _, c := range all {
		require.NoError(t, c.Close())
	}
	assert.Eventually(t, func() bool { return resident() < before+left }, settleLimit, settleEvery, "%d before, %d with connections", before, with)
	assert.Greater(t, with, before+left)
}

// upgraded returns a WebSocket at /ui.
func upgraded(t *testing.T, p *portaltest.Portal) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", "127.0.0.1:"+p.Port)
	require.NoError(t, err)
	_, err = io.WriteString(c, "GET /ui HTTP/1.1\r\nHost: localhost:"+p.Port+"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
	require.NoError(t, err)
	status := make([]byte, len("HTTP/1.1 101"))
	_, err = io.ReadFull(c, status)
	require.NoError(t, err)
	require.Equal(t, "HTTP/1.1 101", string(status))
	return c
}

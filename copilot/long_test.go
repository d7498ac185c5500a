package copilot_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

// Counts allocated bytes, which unlike time do not grow on a busy machine.
func TestReadingStoredTextIsLinear(t *testing.T) {
	per := func(pieces int) int {
		h := &home{t: t, agents: fake.New(), directory: t.TempDir(), work: t.TempDir()}
		defer h.agents.Close()
		h.agents.Script = func(turn *fake.Turn) {
			for range pieces {
				turn.Emit(event.MessageDelta{ID: "m", Text: "x"})
			}
			turn.Emit(event.MessageEnded{ID: "m", Text: "all"})
		}
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		p.eventually(func() bool { return s.Info().State == copilot.StateIdle && p.host.Flushed(s.ID()) }, "the run is stored")
		p.stop()
		p = h.portal()
		defer p.stop()
		before := allocated()
		require.Greater(t, len(past(t, p.session(s.ID()))), pieces)
		return (allocated() - before) / pieces
	}
	short, long := per(500), per(5_000)
	t.Logf("bytes per delta: %d of a short text, %d of one 10 times as long", short, long)
	assert.Less(t, long, 4*short)
}

// allocated returns the number of bytes allocated so far.
func allocated() int {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.TotalAlloc)
}

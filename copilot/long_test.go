package copilot_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/copilottest"
)

func TestReadingAStoredTextTakesAsLongAsItIs(t *testing.T) {
	per := func(pieces int) time.Duration {
		h := &home{t: t, agents: copilottest.New(), directory: t.TempDir(), work: t.TempDir()}
		defer h.agents.Close()
		h.agents.Script = func(turn *copilottest.Turn) {
			for range pieces {
				turn.Emit(copilot.MessageDelta{ID: "m", Text: "x"})
			}
			turn.Emit(copilot.MessageEnded{ID: "m", Text: "all"})
		}
		p := h.portal()
		s := p.start()
		prompt(t, s, "first")
		require.Eventually(t, func() bool { return s.Info().State == copilot.StateIdle }, time.Minute, time.Millisecond)
		p.stop()
		best := time.Hour
		for range 3 {
			p = h.portal()
			began := time.Now()
			require.Greater(t, len(past(t, p.session(s.ID()))), pieces)
			best = min(best, time.Since(began))
			p.stop()
		}
		return best / time.Duration(pieces)
	}
	short, long := per(500), per(5_000)
	t.Logf("a piece: %v of a short text, %v of one 10 times as long", short, long)
	assert.Less(t, long, 4*short)
}

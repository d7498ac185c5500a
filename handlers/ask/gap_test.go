package ask_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/ask"
)

// gate is an output that blocks until it is closed.
type gate chan struct{}

func (g gate) Write(b []byte) (int, error) {
	<-g
	return len(b), nil
}

func TestSlowOutputReportsGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		defer agents.Close()
		agents.Script = func(turn *fake.Turn) {
			for range 200 {
				turn.Say(strings.Repeat("x ", 4000))
			}
		}
		host := agents.NewHost(copilot.Options{RecordBudget: 64 << 10})
		defer host.Close(t.Context())
		out, notes, done := gate(make(chan struct{})), &strings.Builder{}, make(chan error, 1)
		go func() {
			done <- ask.Run(t.Context(), host, ask.Options{Prompt: "x", Out: out, Notes: notes, Start: copilot.Start{Directory: t.TempDir()}})
		}()
		synctest.Wait()
		close(out)
		require.NoError(t, <-done)
		assert.Contains(t, notes.String(), "are no longer kept")
	})
}

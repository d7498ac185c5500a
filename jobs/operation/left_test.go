package operation_test

import (
	"context"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/jobs/operation"
)

// fading is a context that ends between its first and second use, like that of a client that
// disconnects.
type fading struct {
	context.Context //nolint:containedctx // it is one

	looks atomic.Int32
}

func (f *fading) Err() error {
	if f.looks.Add(1) == 1 {
		return nil
	}
	return context.Canceled
}

func TestFailedFinalizationIsRetried(t *testing.T) {
	onMachine(t, func(m *machine) {
		first := m.open()
		m.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		o := first.start(operation.Request{Feature: "003", Document: "x"})
		wait(time.Second)
		first.kill()

		second := m.open()
		defer second.stop()
		require.ErrorIs(m.t, second.host.Recover(&fading{Context: context.Background()}), context.Canceled)
		assert.Equal(m.t, operation.Running, second.get(o.Info().ID).Info().Status, "adopted, but not ended")
		require.NoError(m.t, second.host.Recover(context.Background()))
		require.NoError(m.t, second.host.Recover(context.Background()), "a second call changes nothing")
		again := second.get(o.Info().ID)
		assert.Equal(m.t, operation.Interrupted, again.Info().Status)
		assert.Equal(m.t, []string{"error: The portal ended while the operation ran.", "complete: Operation interrupted."}, story(present(m.t, again, -1)))
		second.start(operation.Request{Feature: "003", Document: "x"})
	})
}

func TestExpiredOperationHasNoEnd(t *testing.T) {
	onMachine(t, func(m *machine) {
		first := m.open()
		m.agents.Script = func(t *fake.Turn) { t.Say("One.\nTwo.") }
		o, _ := first.do(operation.Request{Type: operation.Prompt, Prompt: "x"})
		first.stop()

		second := m.open()
		defer second.stop()
		again := second.get(o.Info().ID)
		some, err := again.Next(context.Background(), -1, 1)
		require.NoError(m.t, err)
		require.Len(m.t, some, 1)
		_, err = second.store.DeleteDone(context.Background(), "operation", time.Now().Add(time.Hour))
		require.NoError(m.t, err)
		_, err = again.Next(context.Background(), 0, 1)
		assert.Equal(m.t, fault.NotFound, fault.KindOf(err), "%v", err)
		_, err = again.Next(context.Background(), 2, 1)
		assert.ErrorIs(m.t, err, io.EOF, "after complete")
	})
}

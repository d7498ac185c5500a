package sdk_test

import (
	"bytes"
	"runtime/pprof"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// The test is not parallel: it counts goroutines of the whole process.
func TestClosedConversationOfKilledAgentLeavesNoGoroutine(t *testing.T) {
	a := launch(t, sdk.New(options(t)))
	before := eventLoops(t)
	c := open(t, a, nil)
	require.Greater(t, eventLoops(t), before)
	require.NoError(t, syscall.Kill(a.PID(), syscall.SIGKILL))
	<-a.Done()
	assert.Equal(t, fault.Unavailable, fault.KindOf(c.Send(t.Context(), event.Prompt{Text: "hello"})))
	require.Error(t, c.Close(t.Context()), "the CLI does not know that it is closed")
	require.Eventually(t, func() bool { return eventLoops(t) <= before }, late, 10*time.Millisecond)
}

// eventLoops returns the number of goroutines that wait for events of a conversation.
func eventLoops(t *testing.T) int {
	t.Helper()
	var all bytes.Buffer
	require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 2))
	return bytes.Count(all.Bytes(), []byte("created by github.com/github/copilot-sdk/go.newSession"))
}

package session_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
)

func TestRunThatWasCancelledInTheQueueDoesNotReplaceTools(t *testing.T) {
	ids := 0
	m := session.NewMachine(func() string { ids++; return strconv.Itoa(ids) })
	m.Activate()
	_, err := m.Prompt(event.Prompt{Text: "first"})
	require.NoError(t, err)
	for range 2 {
		_, err = m.Prompt(event.Prompt{Text: "with tools", Tools: &[]event.Tool{}})
		require.NoError(t, err)
	}
	require.NoError(t, m.Cancel("2"))
	m.SlotAcquired(true)
	m.ConversationOpened(nil)
	m.Sent(nil)
	m.Idle(event.Idle{})
	replaced := 0
	for _, e := range m.Effects() {
		if _, ok := e.(session.ReplaceTools); ok {
			replaced++
		}
	}
	assert.Equal(t, "3", m.RunID())
	assert.Equal(t, 1, replaced)
}

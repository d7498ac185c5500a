package session_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
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

// The prompts that wait are stored together, and what is stored has a limit.
func TestPromptsThatWaitHaveALimitInBytes(t *testing.T) {
	ids := 0
	m := session.NewMachine(func() string { ids++; return strconv.Itoa(ids) })
	m.Activate()
	prompt := func(size int, steer bool) error {
		_, err := m.Prompt(event.Prompt{Text: "see", Steer: steer, Attachments: []event.Attachment{{Data: make([]byte, size), Type: "image/png"}}})
		return err
	}
	require.NoError(t, prompt(100<<20, false), "it runs")
	require.NoError(t, prompt(40<<20, false))
	for _, steer := range []bool{false, true} {
		err := prompt(30<<20, steer)
		assert.Equal(t, fault.Busy, fault.KindOf(err))
		require.ErrorContains(t, err, "would exceed 64 MiB")
	}
	require.NoError(t, prompt(10<<20, true))
	require.Error(t, prompt(15<<20, false))
	require.NoError(t, prompt(10<<20, false))
	require.Error(t, m.Edit("2", strings.Repeat("x", 5<<20)))
	require.NoError(t, m.Edit("2", "other"))
}

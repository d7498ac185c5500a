package session_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/session"
)

func TestFailedReplyEndsOnlyRunThatAgentHas(t *testing.T) {
	m := session.NewMachine(func() string { return "r" })
	m.Activate()
	m.Attach()
	m.Ask("", event.Question{ID: "q", Kind: event.AskInput, Freeform: true}) // outside of a run
	m.Answer(event.QuestionClosed{ID: "q"}, event.Answer{Text: "a"})
	_, err := m.Prompt(event.Prompt{Text: "x"})
	require.NoError(t, err)
	m.ReplyFailed(m.Conversation(), errors.New("no"))
	require.False(t, m.Interrupted(), "the run is not stopped")
	m.SlotAcquired(true)
	m.ConversationOpened(nil)
	m.Sent(nil)
	m.Idle(event.Idle{})
	var ends []event.Body
	for _, e := range m.Effects() {
		if r, ok := e.(session.Record); ok {
			if end, ok := r.Body.(event.RunEnded); ok {
				ends = append(ends, end)
			}
		}
	}
	assert.Equal(t, []event.Body{event.RunEnded{Outcome: event.Completed}}, ends)
}

// resumed returns a session with the run r, whose agent is asked to continue after a restart.
func resumed() session.Machine {
	m := session.NewMachine(func() string { return "new" })
	m.SetStored(false, false)
	m.Recover(session.Unfinished{Run: "r", Questions: []event.Question{{ID: "q", Kind: event.AskPermission}}, Continues: true})
	m.Activate()
	m.SlotAcquired(true)
	m.Answer(event.QuestionClosed{ID: "q"}, event.Answer{Approved: true})
	m.OpeningConversation()
	m.Attach()
	m.SendAnswers()
	return m
}

func TestRecoveredRunIsAbortedOnceItsConversationIsOpen(t *testing.T) {
	m := resumed()
	require.NoError(t, m.Cancel(""))
	m.Effects()
	m.ConversationOpened(nil)
	assert.Equal(t, []session.Effect{session.Begin{Step: session.AbortRun, Run: m.Run()}}, m.Effects(), "the agent works on it")
	assert.Equal(t, "r", m.RunID())
}

func TestRecoveredRunIsNotSteered(t *testing.T) {
	m := resumed()
	m.ConversationOpened(nil)
	run, err := m.Prompt(event.Prompt{Text: "b", Steer: true})
	require.NoError(t, err)
	assert.Equal(t, "new", run, "it is queued")
	_, err = m.SendNow(run)
	assert.Equal(t, fault.Busy, fault.KindOf(err))
}

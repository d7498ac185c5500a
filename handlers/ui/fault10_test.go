package ui_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/handlers/ui"
)

func TestAHistoryEndsWhoseLastEntryIsDroppedMeanwhile(t *testing.T) {
	record := journal.New(journal.Options[copilot.Event]{Group: func(e copilot.Event) (string, bool) {
		_, end := e.Body.(copilot.MessageEnded)
		return "m", end
	}})
	for range 3 {
		_, err := record.Append(copilot.Event{Run: "r", Body: copilot.MessageDelta{ID: "m", Text: "x"}})
		require.NoError(t, err)
	}
	last := record.Last() // a history looks here how far it has to go, while the model speaks
	_, err := record.Append(copilot.Event{Run: "r", Body: copilot.MessageEnded{ID: "m", Text: "xxx"}})
	require.NoError(t, err)
	record.Trim(record.Last()) // as the budget does at once
	done := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	go func() { done <- ui.ReadUpTo(ctx, record, last) }()
	select {
	case err := <-done:
		require.NoError(t, err)
	case <-time.After(5 * time.Second):
		require.Fail(t, "it reads the same entry again and again, and does not heed the end of its context")
	}
}

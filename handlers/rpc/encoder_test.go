package rpc_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/handlers/rpc"
)

// A node that was cut off has sent a part of a text that is not in the record.
func TestTextOfABranchIsReplaced(t *testing.T) {
	sent := rpc.Encode(journal.GapError{After: 9, First: 3, Stale: true},
		[]event.Body{event.RunStarted{}, event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "only in the branch"}},
		[]event.Body{event.MessageEnded{ID: "m", Text: "in the record"}},
	)
	assert.Contains(t, sent[len(sent)-2], `gap {"messageId":"m"`)
	assert.Contains(t, sent[len(sent)-1], `"content":"in the record"`)
}

func TestTextAfterAGapIsContinued(t *testing.T) {
	sent := rpc.Encode(journal.GapError{After: 3, First: 6},
		[]event.Body{event.RunStarted{}, event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "in the "}},
		[]event.Body{event.MessageEnded{ID: "m", Text: "in the record"}},
	)
	assert.Contains(t, sent[len(sent)-1], `"content":"record"`)
}

// The cache keeps more forms than what compresses them.
func TestFormsFromTheCacheAreSharedAgain(t *testing.T) {
	shared := rpc.Share()
	assert.Contains(t, shared[0], "hello")
	assert.Equal(t, shared[0], shared[1])
}

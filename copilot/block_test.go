package copilot_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/follow"
)

// begins is a script that leaves a thought, a message and a tool call open.
func begins(t *fake.Turn) {
	t.Emit(event.ReasoningStarted{ID: "r"}, event.ReasoningDelta{ID: "r", Text: "so "}, event.ReasoningDelta{ID: "r", Text: "what"})
	t.Say("first")
	t.Emit(event.ToolStarted{ID: "t", Name: "bash"}, event.ToolOutput{ID: "t", Text: "1\n"}, event.ToolOutput{ID: "t", Text: "2\n"})
	t.Emit(event.MessageStarted{ID: "m"}, event.MessageDelta{ID: "m", Text: "I "}, event.MessageDelta{ID: "m", Text: "beg"})
}

func TestOpenBlocksEndWithTheirRun(t *testing.T) {
	tests := []struct {
		name string
		then func(*fake.Turn)
		do   func(*world, *copilot.Session)
	}{
		{"cancelled", (*fake.Turn).WaitForAbort, func(w *world, s *copilot.Session) { require.NoError(w.t, s.Cancel("")) }},
		{"the agent ignores it", func(t *fake.Turn) { t.WaitIgnoringAbort(time.Hour) }, func(w *world, s *copilot.Session) { require.NoError(w.t, s.Cancel("")) }},
		{"killed", (*fake.Turn).Kill, func(*world, *copilot.Session) {}},
		{"failed", func(t *fake.Turn) { t.Emit(event.SessionError{Text: "no"}) }, func(*world, *copilot.Session) {}},
		{"closed", (*fake.Turn).WaitForAbort, func(w *world, s *copilot.Session) { require.NoError(w.t, s.Close()) }},
		{"forgotten by the agent", func(*fake.Turn) {}, func(*world, *copilot.Session) {}},
	}
	for _, test := range tests {
		inWorld(t, test.name, copilot.Options{}, func(w *world) {
			w.agents.Script = func(t *fake.Turn) { begins(t); test.then(t) }
			s := w.start()
			prompt(w.t, s, "go")
			settle()
			test.do(w, s)
			wait(2 * time.Minute) // an agent gets time to stop, and deltas stay for a minute
			assert.Contains(w.t, of[event.MessageEnded](w.t, s), event.MessageEnded{ID: "m", Text: "I beg", Cut: true})
			assert.Equal(w.t, []event.ReasoningEnded{{ID: "r", Text: "so what", Cut: true}}, of[event.ReasoningEnded](w.t, s))
			ends := of[event.ToolEnded](w.t, s)
			require.Len(w.t, ends, 1)
			assert.Equal(w.t, &event.ToolResult{Content: "1\n2\n"}, ends[0].Result)
			assert.Equal(w.t, event.CodeInterrupted, ends[0].Error.Code)
			assert.Empty(w.t, of[event.MessageDelta](w.t, s), "the ends supersede them")
		})
	}
}

// TestLateReaderGetsOpenBlocks compares, at every event, a reader of
// everything with one that starts there with the open blocks.
func TestLateReaderGetsOpenBlocks(t *testing.T) {
	inBubble(t, func(w *world) {
		w.agents.Script = func(t *fake.Turn) { begins(t); t.Say("over"); saysMore(t); t.WaitForAbort() }
		s := w.start()
		prompt(w.t, s, "go")
		settle()
		require.NoError(w.t, s.Cancel(""))
		settle()
		all := past(w.t, s)
		for n := uint64(0); n <= s.Record().Last(); n++ {
			carried, err := follow.OpenBlocksAt(w.t.Context(), s.Record(), n)
			require.NoError(w.t, err)
			want, got := texts{}, texts{}
			for _, b := range carried {
				for _, e := range b.Events() {
					got.take(e, true)
				}
			}
			for _, e := range all {
				want.take(e.Value, e.N > n)
				if e.N > n {
					got.take(e.Value, true)
				}
			}
			for id, text := range got {
				assert.Equal(w.t, want[id], text, "%s, joined after %d", id, n)
			}
			for id := range want {
				assert.Contains(w.t, got, id, "joined after %d", n)
			}
		}
	})
}

func saysMore(t *fake.Turn) {
	t.Emit(event.MessageStarted{ID: "m2"}, event.MessageDelta{ID: "m2", Text: "once "}, event.MessageDelta{ID: "m2", Text: "more"})
}

// texts are the texts of blocks that a reader has assembled from deltas.
type texts map[string]string

// take adds a delta. One from before the comparison counts
// only for blocks in progress.
func (x texts) take(e event.Event, counts bool) {
	add := func(id, text string) {
		if _, known := x[id]; known || counts || text != "" {
			x[id] += text
		}
	}
	switch b := e.Body.(type) {
	case event.MessageDelta:
		add("m"+b.ID, b.Text)
	case event.ReasoningDelta:
		add("r"+b.ID, b.Text)
	case event.ToolOutput:
		add("t"+b.ID, b.Text)
	case event.MessageEnded:
		x.end("m"+b.ID, counts)
	case event.ReasoningEnded:
		x.end("r"+b.ID, counts)
	case event.ToolEnded:
		x.end("t"+b.ID, counts)
	}
}

func (x texts) end(id string, counts bool) {
	if !counts {
		delete(x, id)
	}
}

func TestOpenBlockKeepsEndOfLongOutput(t *testing.T) {
	var blocks event.Blocks
	blocks.Apply(event.Event{Body: event.ToolStarted{ID: "t", Name: "bash"}})
	for i := range 40 {
		line := fmt.Sprintf("%0100000d", i)
		blocks.Apply(event.Event{Body: event.ToolOutput{ID: "t", Text: line}})
	}
	open := blocks.Open()
	require.Len(t, open, 1)
	assert.LessOrEqual(t, len(open[0].Text), 2<<20)
	assert.Equal(t, "39", open[0].Text[len(open[0].Text)-2:])
}

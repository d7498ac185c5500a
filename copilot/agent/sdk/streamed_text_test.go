package sdk_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/github/copilot-sdk/go/rpc"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/event"
)

// burst returns the events of a CLI whose model streams a text in n pieces, in order, and the text.
func burst(n int, isSized bool) (log []rpc.SessionEvent, whole string) {
	var text strings.Builder
	for i := range n {
		piece := fmt.Sprintf("w%d ", i)
		text.WriteString(piece)
		if isSized {
			log = append(log, rpc.SessionEvent{ID: fmt.Sprintf("s%d", i), Data: &rpc.AssistantStreamingDeltaData{TotalResponseSizeBytes: int64(text.Len())}})
		}
		log = append(log, rpc.SessionEvent{ID: fmt.Sprintf("d%d", i), Data: &rpc.AssistantMessageDeltaData{MessageID: "m", DeltaContent: piece}})
	}
	return log, text.String()
}

// garble returns the events as the CLI sends those of a long burst: several readers send them, one in order and the others from
// the events that it still holds, and all of them in turns.
func garble(log []rpc.SessionEvent, random *rand.Rand) (sent []rpc.SessionEvent) {
	const inOrder, held = 10_000, 8192
	sent = append(sent, log[:inOrder]...)
	head, readers := inOrder, []int{inOrder, 12, 40}
	for readers[0] < len(log) {
		head = min(len(log), max(head, readers[0])+random.IntN(8))
		for range 1 + random.IntN(4) {
			i := random.IntN(len(readers))
			if i > 0 && head-readers[i] > held {
				readers[i] = head - held + random.IntN(2)
			}
			if at := readers[i]; at < head {
				sent = append(sent, log[at])
				readers[i]++
			}
		}
	}
	return append(sent, log[readers[1]:]...)
}

// received holds what a reader has of each message.
type received struct {
	text  map[string]string
	ended map[string]string
	order []string
}

func receive(t *testing.T, bodies []event.Body) received {
	t.Helper()
	texts := map[string]*strings.Builder{}
	r := received{text: map[string]string{}, ended: map[string]string{}}
	for _, b := range bodies {
		switch b := b.(type) {
		case event.MessageStarted:
			require.Nil(t, texts[b.ID], "%s begins twice", b.ID)
			texts[b.ID] = &strings.Builder{}
			r.order = append(r.order, b.ID)
		case event.MessageDelta:
			require.NotContains(t, r.ended, b.ID)
			texts[b.ID].WriteString(b.Text)
		case event.MessageEnded:
			require.NotContains(t, r.ended, b.ID)
			r.ended[b.ID], r.text[b.ID] = b.Text, texts[b.ID].String()
		}
	}
	return r
}

// equal compares long texts. It shows only where they begin to differ.
func equal(t *testing.T, want, got string) {
	t.Helper()
	same := 0
	for same < min(len(want), len(got)) && want[same] == got[same] {
		same++
	}
	assert.Equal(t, want[same:min(same+80, len(want))], got[same:min(same+80, len(got))], "from byte %d of %d", same, len(want))
}

func translate(events []rpc.SessionEvent, whole string) (bodies []event.Body) {
	tr := sdk.NewTranslator("/project")
	for _, e := range events {
		bodies = append(bodies, tr.Event(e)...)
	}
	bodies = append(bodies, tr.Event(rpc.SessionEvent{ID: "end", Data: &rpc.AssistantMessageData{MessageID: "m", Content: whole}})...)
	for _, e := range events[len(events)-100:] {
		bodies = append(bodies, tr.Event(e)...)
	}
	return bodies
}

func TestDeltasOfLongBurstEqualTheWholeText(t *testing.T) {
	const chunks = 30_000
	log, whole := burst(chunks, true)
	for seed := range uint64(2) {
		events := garble(log, rand.New(rand.NewPCG(seed, seed)))
		require.Greater(t, len(events), len(log)*5/4, "some come again")
		bodies := translate(events, whole)
		got := receive(t, bodies)
		require.Equal(t, []string{"m"}, got.order, "seed %d", seed)
		equal(t, whole, got.text["m"])
		equal(t, whole, got.ended["m"])
		assert.Greater(t, len(bodies), 4000, "the beginning is streamed")
	}
}

func TestRepeatedPiecesDoNotStopTheStream(t *testing.T) {
	const chunks = 20_000
	log, whole := burst(chunks, true)
	var events []rpc.SessionEvent
	for i, e := range log {
		events = append(events, e)
		if i > 10_000 {
			events = append(events, log[i-9_000])
		}
	}
	bodies := translate(events, whole)
	got := receive(t, bodies)
	equal(t, whole, got.text["m"])
	assert.Greater(t, len(bodies), chunks)
}

// A model may pause after any piece.
func TestEachPieceOfSteadyTextIsPassedOnAtOnce(t *testing.T) {
	log, _ := burst(1500, true)
	tr := sdk.NewTranslator("/project")
	for i, e := range log {
		e.Timestamp = time.Unix(0, 0).Add(time.Duration(i/2) * 5 * time.Millisecond)
		bodies := tr.Event(e)
		if d, ok := e.Data.(*rpc.AssistantMessageDeltaData); ok {
			require.NotEmpty(t, bodies)
			require.Equal(t, event.MessageDelta{ID: "m", Text: d.DeltaContent}, bodies[len(bodies)-1])
		}
	}
}

// A portal that was stopped for a while has thousands of unread pieces of a text that came steadily.
func TestPiecesOfSteadyTextInTheWrongOrderAreHeldBack(t *testing.T) {
	log, whole := burst(30_000, true)
	for i := range log {
		log[i].Timestamp = time.Unix(0, 0).Add(time.Duration(i/2) * 5 * time.Millisecond)
	}
	log[19_999].Data, log[20_001].Data = log[20_001].Data, log[19_999].Data // w10000 is longer than w9999
	bodies := translate(log, whole)
	got := receive(t, bodies)
	require.Equal(t, []string{"m"}, got.order)
	equal(t, whole, got.text["m"])
	assert.Len(t, bodies, 1+9_999+2, "the rest waits for the end")
}

// Where the CLI does not report sizes, pieces in a wrong order are noticed only at the end.
func TestMessageReplacesOneWithOtherDeltas(t *testing.T) {
	log, whole := burst(10_000, false)
	log[9000], log[9001] = log[9001], log[9000]
	got := receive(t, translate(log, whole))
	require.Equal(t, []string{"m", "m-2"}, got.order)
	assert.Empty(t, got.ended["m"], "it is retracted")
	equal(t, whole, got.text["m-2"])
	equal(t, whole, got.ended["m-2"])
}

func TestEndBringsTheRestOfItsText(t *testing.T) {
	for name, tc := range map[string]struct {
		pieces []string
		whole  string
		want   []event.Body
	}{
		"nothing is missing":             {[]string{"a", "b"}, "ab", nil},
		"the last piece is missing":      {[]string{"a", "b"}, "abc", []event.Body{event.MessageDelta{ID: "m", Text: "c"}}},
		"the blanks around it are gone":  {[]string{"\n a", "b\n"}, "ab", nil},
		"the blanks before it are gone":  {[]string{"\n a"}, "ab", []event.Body{event.MessageDelta{ID: "m", Text: "b"}}},
		"only tools are called after it": {[]string{"a"}, "", nil},
		"nothing was streamed":           {nil, "ab", nil},
		"it is another text": {[]string{"a", "c"}, "ab", []event.Body{
			event.MessageEnded{ID: "m"}, event.MessageStarted{ID: "m-2"}, event.MessageDelta{ID: "m-2", Text: "ab"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			tr := sdk.NewTranslator("/project")
			tr.Event(vendorEvent(t, "assistant.message_start", `{"messageId":"m"}`))
			for _, piece := range tc.pieces {
				tr.Event(rpc.SessionEvent{Data: &rpc.AssistantMessageDeltaData{MessageID: "m", DeltaContent: piece}})
			}
			got := tr.Event(rpc.SessionEvent{Data: &rpc.AssistantMessageData{MessageID: "m", Content: tc.whole}})
			end := event.MessageEnded{ID: "m", Text: tc.whole}
			if len(tc.want) > 1 {
				end.ID = "m-2"
			}
			assert.Equal(t, append(tc.want, end), got)
		})
	}
}

func TestPieceOfEndedTextIsDropped(t *testing.T) {
	for name, end := range map[string]rpc.SessionEventData{
		"ended":   &rpc.AssistantMessageData{MessageID: "m", Content: "ab"},
		"aborted": &rpc.AssistantIdleData{},
	} {
		t.Run(name, func(t *testing.T) {
			tr := sdk.NewTranslator("/project")
			piece := &rpc.AssistantMessageDeltaData{MessageID: "m", DeltaContent: "a"}
			require.Len(t, tr.Event(rpc.SessionEvent{ID: "1", Data: piece}), 2)
			tr.Event(rpc.SessionEvent{ID: "2", Data: end})
			assert.Empty(t, tr.Event(rpc.SessionEvent{ID: "1", Data: piece}), "it comes again")
			assert.Empty(t, tr.Event(rpc.SessionEvent{ID: "3", Data: piece}), "it comes late")
			assert.Empty(t, tr.Event(rpc.SessionEvent{ID: "4", Data: &rpc.AssistantMessageStartData{MessageID: "m"}}))
		})
	}
}

func TestEndlessTextIsNotRemembered(t *testing.T) {
	log, whole := burst(140_000, true)
	tr := sdk.NewTranslator("/project")
	var bodies []event.Body
	for _, e := range log {
		bodies = append(bodies, tr.Event(e)...)
	}
	assert.Less(t, tr.Size(), 10)
	got := receive(t, append(bodies, tr.Event(rpc.SessionEvent{Data: &rpc.AssistantMessageData{MessageID: "m", Content: whole}})...))
	equal(t, whole, got.text["m"])
}

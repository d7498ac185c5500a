package rpc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
)

// streamsWords sends two texts, 100 words each in a second, and the output of a tool.
func streamsWords(t *fake.Turn) {
	for _, id := range []string{"a", "b"} {
		t.Emit(event.MessageStarted{ID: id})
		for range 100 {
			t.Emit(event.MessageDelta{ID: id, Text: id + " "})
			t.Wait(10 * time.Millisecond)
		}
		t.Emit(event.MessageEnded{ID: id, Text: strings.Repeat(id+" ", 100)})
	}
	t.Emit(event.ToolStarted{ID: "t", Name: "bash"})
	for range 100 {
		t.Emit(event.ToolOutput{ID: "t", Text: "."})
	}
	t.Emit(event.ToolEnded{ID: "t"})
}

func TestIntervalJoinsDeltas(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = streamsWords
		id := a.create(document{})
		plain, joined := a.open(id, "", ""), a.open(id, "?interval=50", "")
		a.send(id, "go")
		all, fewer := plain.until("done"), joined.until("done")
		assert.Equal(a, shown(all), shown(fewer))
		assert.Equal(a, all[len(all)-1], fewer[len(fewer)-1])
		count := func(events []streamEvent, name string) (n int) {
			for _, e := range events {
				if e.name == name && (e.data["delta"] == true || name == "timeline.toolOutput") {
					n++
				}
			}
			return n
		}
		assert.Equal(a, 200, count(all, "timeline.message"))
		assert.LessOrEqual(a, count(fewer, "timeline.message"), 2*(1000/50+2))
		assert.Equal(a, 100, count(all, "timeline.toolOutput"))
		assert.LessOrEqual(a, count(fewer, "timeline.toolOutput"), 3)
	})
}

func TestClientContinuesAfterJoinedDeltas(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = streamsWords
		id := a.create(document{})
		whole := a.open(id, "", "")
		a.send(id, "go")
		want := shown(whole.until("done"))
		s := a.open(id, "?interval=50", "")
		a.send(id, "again")
		var got []streamEvent
		for len(got) < 8 {
			e, _ := s.next()
			got = append(got, e)
		}
		s.close()
		got = append(got, a.open(id, "?interval=50", got[len(got)-1].id).until("done")...)
		assert.Equal(a, want, shown(got))
	})
}

func TestInvalidIntervalIsRefused(t *testing.T) {
	inTime(t, func(a *api) {
		id := a.create(document{})
		for _, interval := range []string{"-1", "1001", "99999999999", "fast", "1.5"} {
			assert.Equal(a, 400, <-a.open(id, "?interval="+interval, "").status, interval)
		}
	})
}

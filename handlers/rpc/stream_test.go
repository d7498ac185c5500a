package rpc_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/handlers/rpc"
)

func TestStreamStartsAtOldestUndeliveredRun(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) { t.Wait(time.Second); fake.Echo(t) }
		id := a.create(document{})
		first, second := a.send(id, "one"), a.send(id, "two")
		s := a.open(id, "", "")
		got := s.until("done")
		assert.Equal(a, first, got[len(got)-1].data["messageId"])
		s.close()
		got = a.open(id, "?until=done", "").until("nothing more")
		assert.Equal(a, "two", shown(got))
		assert.Equal(a, second, got[len(got)-1].data["messageId"])
		third := a.open(id, "", "")
		a.send(id, "three")
		got = third.until("done")
		assert.Equal(a, "three", shown(got), "the others have been told")
	})
}

func TestStreamIsKeptAlive(t *testing.T) {
	inTime(t, func(a *api) {
		id := a.create(document{})
		s := a.open(id, "", "")
		begin := time.Now()
		for range 4 {
			assert.Equal(a, "comment", (<-s.events).name)
		}
		assert.Equal(a, 45*time.Second, time.Since(begin), "the first comes at once")
		for _, text := range []string{"one", "two"} {
			a.send(id, text)
			assert.Equal(a, text, shown(s.until("done")))
		}
	})
}

func TestClosedSessionEndsItsStreams(t *testing.T) {
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) { t.WaitForAbort() }
		id := a.create(document{})
		run := a.send(id, "p")
		s := a.open(id, "", "")
		e, _ := s.next()
		assert.Equal(a, "timeline.message", e.name)
		a.must("session.close", document{"sessionId": id})
		got := s.until("nothing more")
		assert.Equal(a, document{"messageId": run, "status": "cancelled"}, find(a, got, "done"))
		assert.Equal(a, "closed", got[len(got)-1].name)
	})
}

func TestUnknownSessionHasNoStream(t *testing.T) {
	inTime(t, func(a *api) {
		assert.Equal(a, 404, <-a.open("x", "", "").status)
		assert.Equal(a, 400, <-a.open(a.create(document{}), "", "7").status)
	})
}

func TestStreamReportsToolsAndPlans(t *testing.T) {
	todo := func(id string, s event.TodoState) event.Todo {
		return event.Todo{ID: id, Title: "T" + id, State: s}
	}
	inTime(t, func(a *api) {
		a.agents.Script = func(t *fake.Turn) {
			t.Think("let me see")
			t.Call("bash", `{"command":"ls"}`, "a.txt")
			t.Emit(event.MessageStarted{ID: "m0"}, event.MessageEnded{ID: "m0"})
			t.Emit(event.PlanChanged{Text: "# The plan\nA, B", Todos: []event.Todo{todo("1", event.TodoPending), todo("2", event.TodoPending)}})
			t.Emit(event.PlanChanged{Todos: []event.Todo{todo("1", event.TodoCompleted), todo("2", event.TodoRunning)}})
			t.Emit(event.PlanChanged{Todos: []event.Todo{todo("1", event.TodoCompleted), todo("2", event.TodoCompleted)}})
			t.Emit(event.MessageEnded{ID: "m", Text: "whole <b>"}, event.ModelChanged{Model: "model-b"}, event.UsageChanged{Used: 1, Limit: 2})
			t.EmitAs("sub", event.MessageEnded{ID: "s", Text: "aside"})
			t.Emit(event.SessionError{Text: "it broke", Hint: "mend it"})
		}
		id := a.create(document{})
		s := a.open(id, "", "")
		<-s.events // it is open
		run := a.send(id, "p")
		got := s.until("done")
		var told []string
		for _, e := range got {
			told = append(told, fmt.Sprint(e.name, e.data))
		}
		assert.Equal(a, []string{
			"timeline.message" + fmt.Sprint(document{"type": "prompt", "role": "user", "content": "p", "messageId": run, "delta": false}),
		}, told[:1])
		all := strings.Join(told, "\n")
		for _, part := range []string{
			"timeline.messagemap[content:let  delta:true messageId:thought-1 role:reasoning type:reasoning]",
			"timeline.toolCallmap[args:map[command:ls] callId:call-2 status:running toolName:bash]",
			"timeline.toolCallmap[args:map[command:ls] callId:call-2 result:a.txt status:completed toolName:bash]",
			"plan.startmap[planId:" + run + " text:# The plan\nA, B title:The plan]\n" +
				"plan.stepmap[description:T1 status:pending stepId:1]\n" +
				"plan.stepmap[description:T2 status:pending stepId:2]\n" +
				"plan.stepmap[description:T1 status:completed stepId:1]\n" +
				"plan.stepmap[description:T2 status:running stepId:2]\n" +
				"plan.stepmap[description:T2 status:completed stepId:2]\n" +
				"plan.completemap[planId:" + run + " status:completed]\n" +
				"timeline.messagemap[content:whole <b> delta:false messageId:m role:assistant type:text]\n" +
				"modelmap[model:model-b]\nusagemap[limit:2 multiplier:",
			"timeline.messagemap[agent:sub content:aside delta:false messageId:s role:assistant type:subagent]\n" +
				"errormap[code:-32002 data:it broke\nmend it message:SDK error: it broke]\n" +
				"donemap[messageId:" + run + " status:failed]",
		} {
			assert.Contains(a, all, part)
		}
		assert.NotContains(a, all, "m0", "there was nothing to tell")
	})
}

// long is an answer of so many words, and the script that says it over a time.
func long(words int, over time.Duration) (text string, script func(*fake.Turn)) {
	var all strings.Builder
	for i := range words {
		fmt.Fprintf(&all, "w%d ", i)
	}
	text = all.String()
	return text, func(t *fake.Turn) {
		t.Emit(event.MessageStarted{ID: "m"})
		for i := range words {
			if !t.Wait(over / time.Duration(words)) {
				return
			}
			t.Emit(event.MessageDelta{ID: "m", Text: fmt.Sprintf("w%d ", i)})
		}
		t.Emit(event.MessageEnded{ID: "m", Text: text})
	}
}

func TestReconnectsLoseAndDuplicateNothing(t *testing.T) {
	inTime(t, func(a *api) {
		text, script := long(5000, 20*time.Second)
		a.agents.Script = script
		id := a.create(document{})
		a.send(id, "p")
		var all []streamEvent
		last := ""
		for range 200 {
			s := a.open(id, "", last)
			stop := time.After(time.Duration(rand.IntN(170)) * time.Millisecond)
			for open := true; open; {
				select {
				case e, ok := <-s.events:
					if open = ok; ok && e.name != "comment" {
						all = append(all, e)
						if e.id != "" {
							last = e.id
						}
					}
				case <-stop:
					open = false
				}
			}
			s.close()
		}
		all = append(all, a.open(id, "", last).until("done")...)
		assert.Equal(a, text, shown(all))
		require.Equal(a, "done", all[len(all)-1].name)
	})
}

func TestLateReaderGetsTheWholeTextOnce(t *testing.T) {
	inTime(t, func(a *api) {
		text, script := long(1000, 10*time.Second)
		a.agents.Script = script
		id := a.create(document{})
		a.send(id, "p")
		time.Sleep(5 * time.Second)
		got := a.open(id, "?until=done", "").until("done")
		assert.Equal(a, text, shown(got))
		assert.Greater(a, len(got), 1000, "in the middle of the answer: piece by piece")
		a.send(id, "p")
		time.Sleep(11 * time.Second)
		got = a.open(id, "", "").until("done")
		assert.Equal(a, text, shown(got))
		assert.Less(a, len(got), 5, "after it: the whole stands for its pieces")
	})
}

func TestSlowClientGetsRestOfTextWithDroppedDeltas(t *testing.T) {
	text, _ := long(1000, 0)
	for name, tt := range map[string]struct{ whole, want string }{
		"the rest behind what it has":         {text, text},
		"no rest of a text that turned short": {"w0", "w0 w1 w2 "},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, func(a *api) {
				a.agents.Script = func(t *fake.Turn) {
					t.Emit(event.MessageStarted{ID: "m"})
					for _, word := range strings.SplitAfter(strings.TrimSpace(text), " ") {
						t.Wait(10 * time.Millisecond)
						t.Emit(event.MessageDelta{ID: "m", Text: word})
					}
					t.Emit(event.MessageEnded{ID: "m", Text: tt.whole})
				}
				id := a.create(document{})
				s := a.openWithRoom(0, id, "", "")
				a.send(id, "p")
				var got []streamEvent
				for !strings.HasPrefix(shown(got), "w0 w1 w2 ") {
					e, _ := s.next()
					got = append(got, e)
				}
				time.Sleep(10 * time.Minute) // it reads nothing meanwhile
				got = append(got, s.until("done")...)
				s.close()
				for range s.events { // until it has noticed
				}
				assert.Less(a, len(got), 100, "pieces are gone")
				assert.NotContains(a, names(got), "gap")
				if tt.whole == text {
					assert.Equal(a, text, shown(got))
					return
				}
				assert.True(a, strings.HasPrefix(shown(got), tt.want))
				assert.True(a, strings.HasPrefix(text, shown(got)), "and nothing twice")
			})
		})
	}
}

func TestLateReconnectWithinTextGetsGap(t *testing.T) {
	inTime(t, func(a *api) {
		text, script := long(1000, 10*time.Second)
		a.agents.Script = script
		id := a.create(document{})
		a.send(id, "p")
		s := a.open(id, "", "")
		last := ""
		for range 500 {
			e, _ := s.next()
			last = e.id
		}
		s.close()
		time.Sleep(10 * time.Minute)
		got := a.open(id, "", last).until("done")
		assert.Equal(a, "gap", got[0].name)
		assert.Equal(a, "m", got[0].data["messageId"])
		assert.Equal(a, text, shown(got), "whoever replaces what he has has all of it")
	})
}

func TestLateReconnectAtTextBoundaryMissesNothing(t *testing.T) {
	inTime(t, func(a *api) {
		id := a.create(document{})
		a.send(id, "one")
		got := a.open(id, "?until=done", "").until("done")
		a.send(id, "two and three")
		time.Sleep(time.Hour)
		got = a.open(id, "", got[len(got)-1].id).until("done")
		assert.NotContains(a, names(got), "gap")
		assert.Equal(a, "two and three", shown(got))
	})
}

func TestEvictedEventsAreGap(t *testing.T) {
	inTimeWith(t, copilot.Options{RecordBudget: 64 << 10}, rpc.Options{}, func(a *api) {
		id := a.create(document{})
		a.send(id, "one")
		first := a.open(id, "?until=done", "").until("done")
		for range 100 {
			a.send(id, strings.Repeat("x", 5000))
			a.open(id, "?until=done", "").until("done")
		}
		got := a.open(id, "?until=done", first[0].id).until("done")
		assert.Equal(a, "gap", got[0].name)
		assert.Greater(a, got[0].data["first"], got[0].data["after"])
		got = a.open(id, "?until=done", "1-1").until("done")
		assert.Equal(a, "gap", got[0].name, "of another life")
	})
}

func TestStreamsOfOneSessionAllGetEverythingInOrder(t *testing.T) {
	inTime(t, func(a *api) {
		_, script := long(500, 5*time.Second)
		a.agents.Script = script
		id := a.create(document{})
		var streams []*stream
		for range 3 {
			for _, a.gzip = range []bool{false, true} {
				streams = append(streams, a.open(id, "?until=done", ""))
			}
		}
		a.send(id, "p")
		want := streams[0].until("nothing more")
		for _, s := range streams[1:] {
			assert.Equal(a, want, s.until("nothing more"))
		}
		plain, zipped := streams[0], streams[1]
		assert.Empty(a, plain.header.Get("Content-Encoding"))
		assert.Equal(a, "gzip", zipped.header.Get("Content-Encoding"))
		assert.Less(a, zipped.received.Len()*4, plain.received.Len())
	})
}

func TestCompressedStreamContinues(t *testing.T) {
	inTime(t, func(a *api) {
		a.gzip = true
		id := a.create(document{})
		s := a.open(id, "", "")
		a.send(id, "one")
		got := s.until("done")
		s.close()
		a.send(id, "two")
		s = a.open(id, "?until=done&interval=100", got[len(got)-1].id)
		assert.Equal(a, "two", shown(s.until("nothing more")))
	})
}

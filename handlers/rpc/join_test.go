package rpc_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// TestJoiningAtAnyEventEqualsReadingFromStart opens a stream at every
// event of a run, and cuts one there that goes on when the run is over, in each of the
// ways in which it can end.
func TestJoiningAtAnyEventEqualsReadingFromStart(t *testing.T) {
	ends := map[string]func(*api, *fake.Steps, string){
		"completed": func(_ *api, s *fake.Steps, _ string) { s.End() },
		"cancelled": func(a *api, _ *fake.Steps, id string) { a.must("session.cancel", document{"sessionId": id}) },
		"killed":    func(_ *api, s *fake.Steps, _ string) { s.Do((*fake.Turn).Kill) },
		"failed": func(_ *api, s *fake.Steps, _ string) {
			s.Do(func(t *fake.Turn) { t.Emit(event.SessionError{Kind: fault.Unavailable, Text: "no quota"}) })
			s.End()
		},
	}
	for name, end := range ends {
		for _, later := range []time.Duration{0, 5 * time.Minute} { // then pieces are gone
			t.Run(fmt.Sprint(name, " ", later), func(t *testing.T) {
				inTime(t, func(a *api) { openEverywhere(a, end, later) })
			})
		}
	}
}

func openEverywhere(a *api, end func(*api, *fake.Steps, string), later time.Duration) {
	steps := fake.NewSteps()
	a.agents.Script = steps.Script
	id := a.create(document{})
	a.send(id, "go")
	synctest.Wait()
	first := a.open(id, "", "")
	var opened []*stream
	var whole []streamEvent    // of the client that was there from the start
	var before [][]streamEvent // of the interrupted streams
	for i, step := range fake.Eventful() {
		steps.Do(step)
		opened = append(opened, a.open(id, "", ""))
		cut := a.open(id, "", "")
		synctest.Wait()
		whole = append(whole, first.drain()...)
		got := cut.drain()
		require.Equal(a, transcript(whole), transcript(got), "open blocks are sent at %d, too", i)
		cut.close()
		before = append(before, got)
	}
	end(a, steps, id)
	synctest.Wait()
	time.Sleep(later)
	want := transcript(append(whole, first.until("done")...))
	require.Equal(a, "the end", want["text m5"])
	for i, s := range opened {
		require.Equal(a, want, transcript(s.until("done")), "opened at %d", i)
	}
	for i, got := range before {
		last := got[len(got)-1].id
		rest := a.open(id, "", last).until("done")
		require.Equal(a, want, transcript(slices.Concat(got, rest)), "interrupted at %d", i)
	}
}

// drain returns what the stream has sent so far.
func (s *stream) drain() (got []streamEvent) {
	for len(s.events) > 0 {
		if e := <-s.events; e.name != "comment" {
			got = append(got, e)
		}
	}
	return got
}

// transcript is what a client shows that appends every content. The text that is said
// again has no word of its own here: who was there has seen it.
func transcript(events []streamEvent) map[string]string {
	shown := map[string]string{}
	for _, e := range events {
		switch e.name {
		case "timeline.message":
			if key := fmt.Sprint(e.data["type"], " ", e.data["messageId"]); e.data["messageId"] != "m1" {
				content, _ := e.data["content"].(string)
				shown[key] += content
			}
		case "gap": // the text after it comes whole
			delete(shown, fmt.Sprint("text ", e.data["messageId"]))
			delete(shown, fmt.Sprint("reasoning ", e.data["messageId"]))
			delete(shown, fmt.Sprint("subagent ", e.data["messageId"]))
		case "timeline.toolCall":
			shown[fmt.Sprint("tool ", e.data["callId"])] = fmt.Sprint(e.data["toolName"], e.data["args"], e.data["status"], e.data["result"], e.data["error"])
		case "done":
			shown["done"] = fmt.Sprint(e.data["status"])
		}
	}
	return shown
}

func TestTimesHaveThreeFractionalDigits(t *testing.T) {
	inTime(t, func(a *api) {
		var made []string
		for range 2 { // on a whole second, and 20 ms later
			made = append(made, a.must("session.create", document{})["createdAt"].(string))
			time.Sleep(20 * time.Millisecond)
		}
		require.Equal(t, []string{"2000-01-01T00:00:00.000Z", "2000-01-01T00:00:00.020Z"}, made)
	})
}

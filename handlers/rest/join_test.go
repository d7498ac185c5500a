package rest_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// TestJoiningAtAnyEventEqualsReadingFromStart starts reading at every event
// of a run, and again after it, for each way in which it can end. The history during the run is read in one of them: it does not depend on the
// end.
func TestJoiningAtAnyEventEqualsReadingFromStart(t *testing.T) {
	ends := map[string]func(*api, *fake.Steps, string){
		"completed": func(_ *api, s *fake.Steps, _ string) { s.End() },
		"cancelled": func(a *api, _ *fake.Steps, session string) { a.call("POST", session+"/cancel", "") },
		"killed":    func(_ *api, s *fake.Steps, _ string) { s.Do((*fake.Turn).Kill) },
		"failed": func(_ *api, s *fake.Steps, _ string) {
			s.Do(func(t *fake.Turn) { t.Emit(event.SessionError{Kind: fault.Unavailable, Text: "no quota"}) })
			s.End()
		},
	}
	for name, end := range ends {
		for _, later := range []time.Duration{0, 5 * time.Minute} { // after 5 minutes deltas are gone
			t.Run(fmt.Sprint(name, " ", later), func(t *testing.T) {
				inTime(t, copilot.Options{}, func(a *api) { a.joinEverywhere(end, later, name == "completed" && later == 0) })
			})
		}
	}
}

func (a *api) joinEverywhere(end func(*api, *fake.Steps, string), later time.Duration, pages bool) {
	steps := fake.NewSteps()
	a.agents.Script = steps.Script
	session := a.start("")
	a.call("POST", session+"/query", "go")
	synctest.Wait()
	var received [][]document
	var paged []string
	read := func(token int) {
		answer := a.call("GET", fmt.Sprint(session, "/live/token-", token), "")
		responses, _ := answer["responses"].([]any)
		for _, r := range responses {
			received[token] = append(received[token], r.(document))
		}
	}
	for i, step := range fake.Eventful() {
		steps.Do(step)
		synctest.Wait()
		received = append(received, nil)
		for token := range received {
			if token == 0 || token == i {
				read(token)
			}
		}
		require.Equal(a, a.unfinished(received[0]), a.unfinished(received[i]), "open blocks are sent at %d, too", i)
		if pages {
			paged = a.pageEverywhere(session)
		}
	}
	require.Equal(a, pages, len(paged) > 0, "blocks were open")
	end(a, steps, session)
	time.Sleep(later)
	synctest.Wait()
	received = append(received, nil)
	want := ""
	for token := range received {
		read(token)
		got := a.account(received[token], later == 0)
		if token == 0 {
			want = got
		}
		require.Equal(a, want, got, "joined at %d", token)
	}
	require.Contains(a, want, "the end")
	require.Empty(a, a.pageEverywhere(session), "no block is open")
}

// pageEverywhere reads the history from every number on, compares each block with the one
// read from the start, and returns the open blocks.
func (a *api) pageEverywhere(session string) (open []string) {
	a.Helper()
	all := a.call("GET", session+"/history?limit=5000", "")
	require.NotContains(a, all, "open")
	whole := shown{}
	whole.take(all["events"])
	for n := range int(all["last"].(float64)) + 1 {
		answer := a.call("GET", fmt.Sprint(session, "/history?limit=5000&after=", n), "")
		part := shown{}
		part.take(answer["open"])
		part.take(answer["events"])
		for id, block := range part {
			require.Equal(a, whole[id], block, "%s, from %d on", id, n)
		}
		for id, block := range whole {
			if block.end == 0 || block.end > n {
				require.Contains(a, part, id, "from %d on", n)
			}
		}
	}
	for id, block := range whole {
		if block.end == 0 {
			open = append(open, id)
		}
	}
	return open
}

// shown are the blocks that a client has read.
type shown map[string]block

type block struct {
	start, text string
	end         int // number of the event that ends it; 0 while it is open
}

func (s shown) take(events any) {
	list, _ := events.([]any)
	for _, e := range list {
		e := e.(document)
		kind, event, _ := strings.Cut(e["type"].(string), ".")
		body, _ := e["body"].(document)
		id := fmt.Sprint(kind, " ", body["id"])
		b := s[id]
		switch event {
		case "started":
			b.start = fmt.Sprint(e["agent"], body)
		case "delta", "output":
			b.text += body["text"].(string)
		case "ended":
			n, _ := e["n"].(float64)
			b = block{end: int(n), text: fmt.Sprint(body)}
		default:
			continue
		}
		if kind == "message" || kind == "reasoning" || kind == "tool" {
			s[id] = b
		}
	}
}

// unfinished returns the text of each open block.
func (a *api) unfinished(received []document) map[string]string {
	a.Helper()
	pieces := map[string]string{}
	for _, d := range received {
		id := fmt.Sprint(d["reasoningId"], d["messageId"], d["toolCallId"])
		switch d["callback"] {
		case "onReasoning", "onMessage", "onToolExecution":
			pieces[id] += d["delta"].(string)
		case "onEndReasoning", "onEndMessage", "onEndToolExecution":
			delete(pieces, id)
		}
	}
	return pieces
}

// account returns what a reader has received, in order. For complete deltas it
// checks that they equal the whole text.
func (a *api) account(received []document, wholly bool) string {
	a.Helper()
	var b strings.Builder
	pieces := map[string]string{}
	for _, d := range received {
		id := fmt.Sprint(d["reasoningId"], d["messageId"], d["toolCallId"])
		switch d["callback"] {
		case "onReasoning", "onMessage", "onToolExecution":
			pieces[id] += d["delta"].(string)
			continue
		case "onEndReasoning", "onEndMessage":
			if wholly && pieces[id] != "" && d["completeContent"] != "" {
				assert.Equal(a, d["completeContent"], pieces[id], "%s is complete", id)
			}
		case "onEndToolExecution":
			if result, ok := d["result"].(document); wholly && ok && pieces[id] != "" {
				assert.Equal(a, result["content"], pieces[id], "%s is complete", id)
			}
		}
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

func TestTextEndingDuringReplayHasNoGap(t *testing.T) {
	inTime(t, copilot.Options{}, func(a *api) {
		const words = 1500 // more than one call returns
		steps := fake.NewSteps()
		a.agents.Script = steps.Script
		session := a.start("")
		a.call("POST", session+"/query", "go")
		whole := strings.Repeat("word ", words)
		steps.Do(func(t *fake.Turn) {
			t.Emit(event.MessageStarted{ID: "m"})
			for range words {
				t.Emit(event.MessageDelta{ID: "m", Text: "word "})
			}
		})
		synctest.Wait()
		var text strings.Builder
		read := func() (ended bool) {
			responses, _ := a.call("GET", session+"/live/token", "")["responses"].([]any)
			for _, r := range responses {
				switch r := r.(document); r["callback"] {
				case "onMessage":
					text.WriteString(r["delta"].(string))
				case "onEndMessage":
					ended = true
				}
			}
			return ended
		}
		read()
		require.Less(t, text.Len(), len(whole))
		steps.Do(func(t *fake.Turn) { t.Emit(event.MessageEnded{ID: "m", Text: whole}) })
		synctest.Wait()
		for !read() {
			continue
		}
		assert.Equal(t, whole, text.String())
		steps.End()
	})
}

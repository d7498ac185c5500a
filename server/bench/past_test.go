package bench_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/server/portaltest"
)

// pastEvents is how many events a session holds that is opened in the page, of
// everything that is shown in one.
const pastEvents = 20_000

// lastAnswer ends the last answer of that past: it is painted when the end is.
const lastAnswer = "Everything is in its place"

// pasts gives the ids of sessions with a long past in a portal, each of which goes
// on: they were begun by the portal, which was stopped meanwhile.
func pasts(b *testing.B, model string, sessions, events int) (p *portaltest.Portal, ids []string) {
	b.Helper()
	p, dir := start(b, model), b.TempDir()
	for range sessions {
		url := newSession(b, p, dir)
		ids = append(ids, url[strings.LastIndex(url, "/")+1:])
		t := &talk{events: make(chan heard, room)}
		go t.follow(url + "/live/reader")
		call(b, "POST", url+"/query", "hello")
		t.until(b, func(h heard) bool { return h.kind == idle })
	}
	p.Stop()
	s, err := store.Open(b.Context(), store.Options{Directory: p.DataDir()})
	require.NoError(b, err)
	for _, id := range ids {
		appendPast(b, s, id, events)
	}
	require.NoError(b, s.Close())
	return p.Restart(), ids
}

// appendPast writes runs behind what a session holds, as a portal would have.
func appendPast(b *testing.B, s *store.Store, id string, events int) {
	b.Helper()
	l, err := s.Acquire(b.Context(), id)
	require.NoError(b, err)
	head, n := l.Head(), l.Head().Last
	var meta map[string]any
	require.NoError(b, json.Unmarshal(head.Meta, &meta))
	for run := 0; n < uint64(events); run++ {
		for i, body := range everything(run) {
			n++
			require.NoError(b, l.Append(store.Entry{Number: n, Data: encoded(b, run, i, body)}))
		}
		require.NoError(b, s.Flush(b.Context()))
		meta["settled"] = n
	}
	head.Title = "Orders are kept for a day"
	head.Meta, err = json.Marshal(meta)
	require.NoError(b, err)
	require.NoError(b, l.Update(head))
	require.NoError(b, l.Merge())
	require.NoError(b, l.Release(b.Context()))
}

// everything is a run in which all happens that is shown in a conversation.
func everything(run int) []event.Body {
	list := []event.Body{
		event.RunStarted{},
		event.UserMessage{Prompt: event.Prompt{Text: fmt.Sprintf("Please look at number %d: orders that nobody pays are kept for ever.", run)}},
		event.TurnStarted{ID: id(run, "turn")},
		event.ReasoningEnded{ID: id(run, "thought"), Text: strings.Repeat("The store knows when an order was made, so **a sweep** can find the old ones. ", 6)},
	}
	for i := range 4 {
		list = append(list, called(id(run, fmt.Sprint("view", i)), "view", fmt.Sprintf(`{"path":"/orders/store/part%d.go"}`, i), strings.Repeat("1. package store\n", 30), "")...)
	}
	list = append(list, called(id(run, "edit"), "edit", `{"path":"/orders/store/sweep.go","old_str":"a","new_str":"b"}`, "File updated.", change)...)
	list = append(list, called(id(run, "bash"), "bash", `{"command":"go test ./store/..."}`, strings.Repeat("\x1b[32m--- PASS\x1b[0m: TestThatOldOrdersGo/paid (0.01s)\n", 12), "")...)
	return append(list,
		event.UsageChanged{Used: int64(20_000 + run), Limit: 128_000, Multiplier: 1},
		event.MessageEnded{ID: id(run, "message"), Text: answered + lastAnswer + fmt.Sprintf(" (%d).", run)},
		event.TurnEnded{ID: id(run, "turn")}, event.RunEnded{Outcome: event.Completed})
}

func called(id, tool, arguments, result, detail string) []event.Body {
	return []event.Body{
		event.ToolStarted{ID: id, Name: tool, Arguments: []byte(arguments)},
		event.ToolEnded{ID: id, Result: &event.ToolResult{Content: result, Detail: detail}},
	}
}

const change = "--- a/store/sweep.go\n+++ b/store/sweep.go\n@@ -10,6 +10,8 @@\n func (s *Store) Sweep(now time.Time) error {\n" +
	"-\treturn nil\n+\tfor _, o := range s.unpaid(now.Add(-day)) {\n+\t\ts.drop(o.ID)\n+\t}\n+\treturn nil\n }\n"

const answered = "## What changed\n\nOrders that **nobody pays** go after a day, see `store/sweep.go`.\n\n" +
	"1. `Sweep` finds what is old\n2. `drop` removes it\n   - with its lines\n   - with its *invoice*\n\n" +
	"```go\nfor _, o := range s.unpaid(now.Add(-day)) {\n\tif err := s.drop(o.ID); err != nil {\n\t\treturn fmt.Errorf(\"order %s: %w\", o.ID, err)\n\t}\n}\n```\n\n" +
	"| case | before | after |\n|:--|--:|--:|\n| paid | kept | kept |\n| unpaid | kept | gone |\n\n"

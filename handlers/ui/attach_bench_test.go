package ui_test

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/handlers/ui"
)

// BenchmarkAttach measures what the page waits for when it opens a session of about
// 20,000 events that is at rest: the end of its past, as HTML.
func BenchmarkAttach(b *testing.B) {
	kept, err := store.Open(b.Context(), store.Options{Directory: b.TempDir()})
	require.NoError(b, err)
	defer kept.Close()
	agents := fake.New()
	defer agents.Close()
	host := agents.NewHost(copilot.Options{Store: kept})
	id := longPast(b, agents, host)
	host.Close(b.Context())

	host = agents.NewHost(copilot.Options{Store: kept})
	defer host.Close(b.Context())
	api := ui.New(ui.Options{Host: host})
	size := 0
	for b.Loop() {
		size = attachOnce(b, api, id)
	}
	b.ReportMetric(float64(size), "B-told")
}

// longPast is a session of 700 runs with about 30 events.
func longPast(b *testing.B, agents *fake.Agents, host *copilot.Host) string {
	b.Helper()
	done := make(chan struct{}, 1)
	agents.Script = func(t *fake.Turn) {
		defer func() { done <- struct{}{} }()
		for i := range 10 {
			call := fmt.Sprint(i)
			t.Emit(event.ToolStarted{ID: call, Name: "bash", Arguments: []byte(`{"command":"go test ./..."}`)},
				event.ToolEnded{ID: call, Result: &event.ToolResult{Content: strings.Repeat("\x1b[32m--- PASS\x1b[0m: TestIt (0.01s)\n", 10)}})
		}
		t.Say("## What changed\n\n- `a.go`, **all of it**\n- others\n\n```go\nfunc main() { run() }\n```\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")
	}
	s, err := host.Start(b.Context(), copilot.Start{Origin: "ui", Directory: b.TempDir()})
	require.NoError(b, err)
	for range 700 {
		_, err := s.Prompt(event.Prompt{Text: "Please look at all of it"})
		require.NoError(b, err)
		<-done
	}
	return s.ID()
}

// attachOnce opens a connection that attaches to a session, and returns how many bytes came.
func attachOnce(b *testing.B, api *ui.API, id string) (size int) {
	b.Helper()
	in := make(chan string, 2)
	in <- `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"ui_capabilities":{"supports_deltas":true,"supports_html":true}}}`
	in <- fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"portal.session.attach","params":{"session_id":%q,"max_runs":200,"max_events":300}}`, id)
	carrier := jsonrpc.Frames{
		Receive: func() ([]byte, error) {
			line, ok := <-in
			if !ok {
				return nil, io.EOF
			}
			return []byte(line), nil
		},
		Send: func(frames ...[]byte) error {
			for _, frame := range frames {
				size += len(frame)
				var answer struct {
					ID    int             `json:"id"`
					Error json.RawMessage `json:"error"`
				}
				if json.Unmarshal(frame, &answer) == nil && answer.ID == 2 {
					require.Nil(b, answer.Error, "%s", answer.Error)
					close(in)
				}
			}
			return nil
		},
		Hangup: func() error { return nil },
	}
	require.NoError(b, api.Serve(b.Context(), carrier, ui.Client{}))
	return size
}

package server_test

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
)

// startsRun returns a run.start with a prompt.
func startsRun(id, prompt string) string {
	text, _ := json.Marshal(prompt) // cannot fail for a string
	return `{"jsonrpc":"2.0","id":"` + id + `","method":"run.start","params":{"input":{"type":"text","text":` + string(text) + `}}}`
}

// terminalStatuses returns the terminal statuses in lines, by run, in order.
func terminalStatuses(t *testing.T, lines []string) map[string][]string {
	t.Helper()
	list := map[string][]string{}
	for _, line := range lines {
		var message struct {
			Method string
			Params struct {
				Run    string `json:"run_id"`
				Status string
			}
		}
		require.NoError(t, json.Unmarshal([]byte(line), &message), line)
		if p := message.Params; message.Method == "run.status" && p.Status != "running" && p.Status != "awaiting_ui" {
			list[p.Run] = append(list[p.Run], p.Status)
		}
	}
	return list
}

// untilLine receives lines up to one that contains a text.
func untilLine(t *testing.T, u *portaltest.UI, text string) (line string) {
	t.Helper()
	for !strings.Contains(line, text) {
		var err error
		line, err = u.Receive(agentStarts)
		require.NoError(t, err)
	}
	return line
}

func TestStdioRunsEndWithATerminalStatus(t *testing.T) {
	t.Parallel()
	const asks = `{"jsonrpc":"2.0","id":"1","method":"initialize","params":{"protocol_version":"0","client":{"name":"test","version":"1"},"ui_capabilities":{"supports_confirm":true}}}`
	ends := map[string]func(*portaltest.Stream){
		"by its input": func(s *portaltest.Stream) { s.CloseInput() },
		"by SIGTERM":   func(s *portaltest.Stream) { s.Signal(syscall.SIGTERM) },
		"by SIGINT":    func(s *portaltest.Stream) { s.Signal(syscall.SIGINT) },
	}
	for name, run := range map[string]struct {
		prompt, begun string
		more          bool
		want          string
		by            []string
	}{
		"that is working":             {"say `heron`, 5,000 tokens in 60 s", `"run.status"`, false, "error", []string{"by its input"}},
		"that waits for a permission": {"run `touch x`", `"ui.confirm.request"`, false, "cancelled", []string{"by its input", "by SIGTERM", "by SIGINT"}},
		"with another one queued":     {"5,000 tokens in 60 s", `"run.status"`, true, "error", []string{"by SIGTERM"}},
	} {
		for _, by := range run.by {
			end := ends[by]
			t.Run(name+", "+by, func(t *testing.T) {
				t.Parallel()
				s := portaltest.Stdio(t, "--demo")
				s.Send(asks)
				s.Send(startsRun("2", run.prompt))
				first := runID(t, untilLine(t, s.UI, `"id":"2"`))
				untilLine(t, s.UI, run.begun)
				want := map[string][]string{first: {run.want}}
				if run.more {
					s.Send(strings.Replace(startsRun("3", "hello"), `"input"`, `"portal":{"when_busy":"queue"},"input"`, 1))
					want[runID(t, untilLine(t, s.UI, `"id":"3"`))] = []string{"error"}
				}
				asksLast := run.want == "cancelled" && by == "by its input" // the agent runs; otherwise the answer could take longer
				if asksLast {
					s.Send(`{"jsonrpc":"2.0","id":"4","method":"mcp.list"}`)
				}
				began := testclock.Now()
				end(s)
				rest := s.Rest()
				assert.Equal(t, 0, s.Wait())
				t.Logf("ended in %v", began.Elapsed())
				assert.Less(t, began.Elapsed(), 4*time.Second)
				assert.Equal(t, want, terminalStatuses(t, rest))
				assert.Equal(t, asksLast, strings.Contains(strings.Join(rest, "\n"), `"id":"4","result"`), "the last request is answered")
			})
		}
	}
}

func TestLastAnswersAreAwaitedAtTheStop(t *testing.T) {
	for name, tc := range map[string]struct {
		serve func(ctx context.Context, out io.Writer, stuck <-chan struct{}) error
		want  time.Duration
	}{
		"for a while": {func(ctx context.Context, _ io.Writer, _ <-chan struct{}) error {
			select {
			case <-time.After(2 * time.Second): // longer than a dialect takes for the ends of runs
			case <-ctx.Done():
			}
			return ctx.Err()
		}, 2 * time.Second},
		"but not for ever": {func(ctx context.Context, _ io.Writer, _ <-chan struct{}) error {
			<-ctx.Done()
			return ctx.Err()
		}, 2500 * time.Millisecond},
		"nor if the dialect is stuck": {func(_ context.Context, _ io.Writer, stuck <-chan struct{}) error {
			<-stuck
			return nil
		}, 2800 * time.Millisecond},
		"nor if the client reads nothing": {func(_ context.Context, out io.Writer, _ <-chan struct{}) error {
			_, err := out.Write([]byte("x"))
			return err
		}, 1800 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				stuck := make(chan struct{})
				defer close(stuck)
				unread, out := io.Pipe()
				defer unread.Close()
				began := time.Now()
				require.NoError(t, server.Flush(t.Context(), out, func(ctx context.Context, out io.Writer) error { return tc.serve(ctx, out, stuck) }))
				assert.Equal(t, tc.want, time.Since(began))
			})
		})
	}
}

func TestSlowReaderGetsTheLastAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		const size = 64 << 10 // of one write
		read := make(chan int)
		go func() {
			n, part := 0, make([]byte, 1<<10)
			for err := error(nil); err == nil; time.Sleep(30 * time.Millisecond) {
				var k int
				k, err = in.Read(part)
				n += k
			}
			read <- n
		}()
		require.NoError(t, server.Flush(t.Context(), out, func(_ context.Context, out io.Writer) error {
			_, err := out.Write(make([]byte, size))
			return err
		}))
		require.NoError(t, out.Close())
		assert.Equal(t, size, <-read)
	})
}

// runID returns the id of the run that a response reports.
func runID(t *testing.T, response string) string {
	t.Helper()
	var d struct {
		Result struct {
			Run string `json:"run_id"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(response), &d), response)
	require.NotEmpty(t, d.Result.Run, response)
	return d.Result.Run
}

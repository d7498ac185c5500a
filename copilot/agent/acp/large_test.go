package acp_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/event"
)

var requestID = regexp.MustCompile(`"id":(\d+)`)

// writesFirst answers requests. While a large one arrives, it writes 200 KB before it reads on.
func writesFirst(in io.Reader, out io.Writer) {
	reader := bufio.NewReaderSize(in, 64<<10)
	for {
		head, err := reader.ReadSlice('\n')
		head = bytes.Clone(head)
		if errors.Is(err, bufio.ErrBufferFull) {
			_, _ = out.Write(bytes.Repeat([]byte("{\"jsonrpc\":\"2.0\",\"method\":\"_x/progress\"}\n"), 5000))
			_, err = reader.ReadBytes('\n')
		}
		if err != nil {
			return
		}
		result := `{"protocolVersion":1,"sessionId":"s1","stopReason":"end_turn"}`
		if id := requestID.FindSubmatch(head); id != nil {
			_, _ = fmt.Fprintf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", id[1], result)
		}
	}
}

func TestLargePromptReachesAnAgentThatWritesFirst(t *testing.T) {
	d := acp.NewOf(acp.Options{Name: "x", Command: []string{"none"}, Saved: t.TempDir()}, func() (io.WriteCloser, io.ReadCloser, <-chan struct{}, func()) {
		in, ourIn := io.Pipe()
		ourOut, out := io.Pipe()
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			writesFirst(in, out)
		}()
		return ourIn, ourOut, gone, func() { _ = errors.Join(in.Close(), out.Close()) }
	})
	a, err := d.Launch(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { a.Stop(t.Context()) })
	idle := make(chan struct{}, 1)
	c, err := a.Open(t.Context(), agent.Opening{Session: "p1", Model: "x/default", Directory: t.TempDir()}, func(_ string, b event.Body) {
		if _, ok := b.(event.Idle); ok {
			idle <- struct{}{}
		}
	})
	require.NoError(t, err)
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: strings.Repeat("x", 20<<20)}))
	select {
	case <-idle:
	case <-time.After(time.Minute):
		require.Fail(t, "the prompt is not answered")
	}
}

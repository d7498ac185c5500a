package cli_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/handlers/cli"
	"github.com/copilot-portal/portal/jobs/studio"
	"github.com/copilot-portal/portal/jobs/studio/code"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

const spec = `{"format":"openapi3","metadata":{"title":"Films","version":"1"},"endpoints":[],"models":[]}`

const answer = "```jsx\nfunction App() {\n  return <h1>Films 🎬</h1>;\n}\n```\nDescription: It shows a title.\n"

// app is the app that started the CLI.
type app struct {
	t     *testing.T
	talks *contract.Conversation
	in    io.Writer
	lines *bufio.Scanner
	ended chan error
}

func TestConnectionsDoNotShareConversations(t *testing.T) {
	agents := fake.New()
	defer agents.Close()
	agents.Script = says("Yes.")
	host := agents.NewHost(copilot.Options{})
	defer host.Close(t.Context())
	api := cli.New(cli.Options{Studio: studio.New(studio.Options{Sessions: host, Directory: t.TempDir()})})
	const connections = 20
	for range connections {
		here, there := net.Pipe()
		ended := make(chan error, 1)
		go func() {
			ended <- api.Serve(t.Context(), jsonrpc.NewLines(here, here, jsonrpc.LineOptions{}), time.Second, func() {})
		}()
		_, err := fmt.Fprintln(there, `{"jsonrpc":"2.0","id":1,"method":"chat","params":{"message":"?","context":{"tabId":"a"}}}`)
		require.NoError(t, err)
		lines := bufio.NewScanner(there)
		for lines.Scan() && !strings.Contains(lines.Text(), `"result"`) { //nolint:revive // up to the answer
		}
		require.NoError(t, there.Close())
		require.NoError(t, <-ended)
		runtime.GC() // so that later connections may be where this one was
	}
	sessions, _, err := host.Sessions(t.Context(), "", 0)
	require.NoError(t, err)
	assert.Len(t, sessions, connections)
}

// inTime runs a test in virtual time, with a scripted agent.
func inTime(t *testing.T, script func(*fake.Turn), test func(*app)) {
	t.Helper()
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		defer agents.Close()
		agents.Script = func(turn *fake.Turn) { turn.Answer(func() { script(turn) }) }
		host := agents.NewHost(copilot.Options{})
		defer host.Close(context.Background())
		work := studio.New(studio.Options{Sessions: host, Policy: permission.Everywhere(permission.Deny), Directory: dir})
		here, there := net.Pipe()
		talks := contract.Talk(t, "cli")
		a := &app{
			t: t, talks: talks, ended: make(chan error, 1),
			in: io.MultiWriter(talks.SentLines(), there), lines: bufio.NewScanner(io.TeeReader(there, talks.ReceivedLines())),
		}
		carrier := jsonrpc.NewLines(here, here, jsonrpc.LineOptions{ASCII: true})
		go func() {
			a.ended <- cli.New(cli.Options{Studio: work, Version: "1.2"}).Serve(context.Background(), carrier, time.Second, func() {})
		}()
		test(a)
		_ = there.Close()
		assert.NoError(t, <-a.ended)
	})
}

func (a *app) say(line string, args ...any) {
	a.t.Helper()
	_, err := fmt.Fprintf(a.in, line+"\n", args...)
	require.NoError(a.t, err)
}

func (a *app) hears(want string) {
	a.t.Helper()
	require.True(a.t, a.lines.Scan())
	assert.JSONEq(a.t, want, a.lines.Text())
	assert.NotContains(a.t, a.lines.Text(), "🎬")
}

func says(text string) func(*fake.Turn) {
	return func(t *fake.Turn) { t.Say(text) }
}

func TestInterfaceIsStreamedAndReturned(t *testing.T) {
	inTime(t, says(answer), func(a *app) {
		a.say(`{"jsonrpc":"2.0","id":"x","method":"generate","params":{"spec":%s,"future":1}}`, spec)
		streamed := ""
		for i := 0; ; i++ {
			require.True(t, a.lines.Scan())
			var m struct {
				Method string
				Params struct {
					RequestID, Chunk string
					Index            int
					Done             bool
				}
			}
			require.NoError(t, json.Unmarshal(a.lines.Bytes(), &m), a.lines.Text())
			require.Equal(t, "stream/chunk", m.Method)
			assert.Equal(t, "x", m.Params.RequestID)
			assert.Equal(t, i, m.Params.Index)
			streamed += m.Params.Chunk
			if m.Params.Done {
				break
			}
		}
		const source = "function App() {\n  return <h1>Films 🎬</h1>;\n}\n"
		whole := source + code.Mount(source)
		assert.Equal(t, whole, streamed)
		raw, _ := json.Marshal(whole)
		a.hears(`{"jsonrpc":"2.0","id":"x","result":{"code":` + string(raw) + `,"componentCount":1,"description":"It shows a title."}}`)
	})
}

func TestAppWithoutStreamingGetsNoChunks(t *testing.T) {
	inTime(t, says("Yes."), func(a *app) {
		a.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"streaming":false}}}`)
		a.hears(`{"jsonrpc":"2.0","id":1,"result":{"serverName":"copilot-cli","serverVersion":"1.2","capabilities":{"codeGeneration":true,"customization":true,"streaming":true}}}`)
		a.say(`{"jsonrpc":"2.0","id":2,"method":"chat","params":{"message":"?"}}`)
		a.hears(`{"jsonrpc":"2.0","id":2,"result":{"message":"Yes.","suggestions":[]}}`)
	})
}

func TestInitializeAcceptsAnything(t *testing.T) {
	inTime(t, says("Yes."), func(a *app) {
		a.talks.MaySendInvalid()
		for _, params := range []string{`[]`, `{"capabilities":3}`, `{"capabilities":{"streaming":"yes"}}`, `null`} {
			a.say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":%s}`, params)
			require.True(t, a.lines.Scan())
			assert.Contains(t, a.lines.Text(), "copilot-cli")
		}
	})
}

func TestEveryErrorHasItsCode(t *testing.T) {
	for name, c := range map[string]struct {
		says, method, params string
		code                 int
		message              string
	}{
		"another type":              {"", "chat", `{"message":"x","context":{"tabId":3}}`, -32602, `"context.tabId" must be a string`},
		"another type in a history": {"", "customize", `{"history":[{"role":1}]}`, -32602, "history"},
		"a list":                    {"", "chat", `[1]`, -32602, "must be an object"},
		"an unknown format":         {"", "generate", `{"spec":` + spec + `,"format":"vue"}`, -32602, "format"},
		"no specification":          {"", "generate", `{}`, -32602, `"spec" is missing`},
		"a bad specification":       {"", "generate", `{"spec":{"format":"openapi3","metadata":{"version":"1"}}}`, -32002, "metadata.title"},
		"no code":                   {"I will not.", "generate", `{"spec":` + spec + `}`, -32000, "Generation Failed"},
		"a refusal":                 {"```refusal\nNo coffee.\n```", "customize", `{"currentCode":"x","prompt":"y"}`, -32001, "No coffee."},
		"too large":                 {"", "customize", `{"currentCode":"` + strings.Repeat("x", 300_000) + `","prompt":"y"}`, -32003, "Context Too Large"},
		"no prompt":                 {"", "customize", `{"currentCode":"x"}`, -32602, "prompt"},
		"an unknown method":         {"", "clarify", `{}`, -32601, "Method not found"},
		"a request as a message":    {"", "chat", `{"message":"{\"method\":\"generate\",\"params\":{\"spec\":{}}}"}`, -32002, "format"},
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, says(c.says), func(a *app) {
				a.say(`{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}`, c.method, c.params)
				require.True(t, a.lines.Scan())
				var d struct {
					ID    int
					Error jsonrpc.Error
				}
				require.NoError(t, json.Unmarshal(a.lines.Bytes(), &d), a.lines.Text())
				assert.Equal(t, 1, d.ID)
				assert.Equal(t, c.code, d.Error.Code, a.lines.Text())
				assert.Contains(t, d.Error.Message, c.message)
			})
		})
	}
}

func TestQuestionIsAResult(t *testing.T) {
	inTime(t, says("```question\n{\"question\": \"Which?\", \"options\": [\"A\"]}\n```\n"), func(a *app) {
		a.say(`{"jsonrpc":"2.0","id":1,"method":"customize","params":{"currentCode":"x","prompt":"y"}}`)
		a.hears(`{"jsonrpc":"2.0","method":"stream/chunk","params":{"requestId":1,"chunk":"","done":true,"index":0}}`)
		a.hears(`{"jsonrpc":"2.0","id":1,"result":{"code":null,"clarificationNeeded":true,"question":"Which?","options":["A"]}}`)
	})
}

func TestExitCancelsRunningRequests(t *testing.T) {
	inTime(t, func(turn *fake.Turn) { turn.WaitForAbort() }, func(a *app) {
		a.say(`{"jsonrpc":"2.0","id":1,"method":"generate","params":{"spec":%s}}`, spec)
		a.say(`{"jsonrpc":"2.0","method":"generate","params":{"spec":%s}}`, spec) // a notification has no effect
		synctest.Wait()
		began := time.Now()
		a.say(`{"jsonrpc":"2.0","method":"exit"}`)
		a.hears(`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"Internal Error: the request was cancelled"}}`)
		assert.False(t, a.lines.Scan())
		assert.Zero(t, time.Since(began))
	})
}

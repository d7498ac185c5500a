package server_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// films returns a NormalizedSpec (spec/contracts/cli-protocol.notes.md, "As the CLI").
func films(description string, endpoints int) json.RawMessage {
	var list []any
	for i := range endpoints {
		list = append(list, map[string]any{
			"path": fmt.Sprintf("/films%d", i), "method": "get", "tag": fmt.Sprintf("tag%d", i%2), "summary": strings.Repeat("Films ", 20),
			"parameters": []any{}, "responses": map[string]any{"200": map[string]any{"statusCode": 200, "description": "Ünïcode 🎬"}},
		})
	}
	raw, _ := json.Marshal(map[string]any{
		"format": "openapi3", "metadata": map[string]any{"title": "Films", "version": "1", "description": description},
		"endpoints": list, "models": []any{},
	})
	return raw
}

// linked returns the path of a link to the program with the name that apps use.
func linked(t *testing.T) string {
	t.Helper()
	link := filepath.Join(t.TempDir(), "copilot-cli")
	require.NoError(t, os.Symlink(portaltest.Binary(t), link))
	return link
}

// codeOf returns the code of an error, or 0 (spec/contracts/cli-protocol.md, "Error Codes").
func codeOf(err error) int {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e.Code
	}
	return 0
}

// chunks collects the chunks of an answer and checks their order.
type chunks struct {
	t    *testing.T
	text strings.Builder
	next int
	done bool
}

func (c *chunks) take(piece ndjson.Chunk) {
	assert.Equal(c.t, c.next, piece.Index)
	assert.False(c.t, c.done, "nothing follows the last chunk")
	c.next, c.done = c.next+1, piece.Done
	c.text.WriteString(piece.Text)
}

func TestAppUsesTheCLI(t *testing.T) {
	client := ndjson.NewClient(ndjson.Options{
		Command: []string{linked(t), "--stdio", "--demo", "--unknown=1", "more"}, Directory: t.TempDir(), Env: portaltest.Environ(t.TempDir()),
	})
	defer client.Close(context.Background())
	ctx := t.Context()

	hello, err := client.Initialize(ctx, ndjson.InitializeParams{ClientName: "test", Capabilities: ndjson.ClientCapabilities{Streaming: true}})
	require.NoError(t, err)
	assert.Equal(t, "copilot-cli", hello.ServerName)
	assert.Equal(t, ndjson.ServerCapabilities{CodeGeneration: true, Customization: true, Streaming: true}, hello.Capabilities)

	generated := &chunks{t: t}
	g, err := client.Generate(ctx, ndjson.GenerateParams{
		Spec: films("", 2), Format: "react", Theme: "dark", Options: &ndjson.GenerateOptions{Layout: "default", IncludeAuth: true},
	}, generated.take)
	require.NoError(t, err)
	assert.True(t, generated.done)
	assert.Equal(t, g.Code, generated.text.String())
	assert.Contains(t, g.Code, `"theme":"dark"`)
	assert.Contains(t, g.Code, `"auth":true,"pagination":false`)
	assert.Greater(t, g.ComponentCount, 5)
	assert.Contains(t, g.Description, "2 operations")

	customize := func(prompt string, history ...ndjson.HistoryEntry) (ndjson.CustomizeResult, error) {
		return client.Customize(ctx, ndjson.CustomizeParams{CurrentCode: g.Code, Prompt: prompt, Spec: films("", 2), History: history}, nil)
	}
	c, err := customize("Add a search bar")
	require.NoError(t, err)
	assert.Contains(t, c.Code, `"search":true`)
	assert.NotEmpty(t, c.Assumptions)
	c, err = customize("Add a search bar to the table")
	require.NoError(t, err)
	assert.Empty(t, c.Code)
	assert.True(t, c.ClarificationNeeded)
	assert.Equal(t, []string{"tag0 table", "tag1 table", "All tables"}, c.Options)
	c, err = customize("tag1 table", ndjson.HistoryEntry{Role: "user", Content: "Add a search bar to the table"}, ndjson.HistoryEntry{Role: "assistant", Content: c.Question})
	require.NoError(t, err)
	assert.Contains(t, c.Code, `"searchIn":"tag1"`)

	chatted, err := client.Chat(ctx, ndjson.ChatParams{Message: "What formats do you support?", Context: ndjson.ChatContext{TabID: "a", HasActiveSpec: true}}, nil)
	require.NoError(t, err)
	assert.Contains(t, chatted.Message, "OpenAPI 3")
	assert.Contains(t, chatted.Message, "Your description can be made an interface")
	assert.NotEmpty(t, chatted.Suggestions)

	_, err = client.Generate(ctx, ndjson.GenerateParams{Spec: films("<!-- demo: broken -->", 1)}, nil)
	require.NoError(t, err, "it is repaired")
	for name, c := range map[string]struct {
		code int
		of   func() error
	}{
		"code that stays invalid": {-32000, func() error {
			_, err := client.Generate(ctx, ndjson.GenerateParams{Spec: films("<!-- demo: broken twice -->", 1)}, nil)
			return err
		}},
		"an impossible change": {-32001, func() error { _, err := customize("Brew coffee"); return err }},
		"an invalid specification": {-32002, func() error {
			_, err := client.Generate(ctx, ndjson.GenerateParams{Spec: []byte(`{"format":"x"}`)}, nil)
			return err
		}},
		"a huge specification": {-32003, func() error {
			_, err := client.Generate(ctx, ndjson.GenerateParams{Spec: films("", 2000)}, nil)
			return err
		}},
		"an empty request": {-32602, func() error { _, err := customize(" "); return err }},
	} {
		assert.Equal(t, c.code, codeOf(c.of()), name)
	}
}

// app is an app that checks every byte and does not read standard error.
type app struct {
	t       *testing.T
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
	talks   *contract.Conversation
}

func startApp(t *testing.T, args ...string) *app {
	t.Helper()
	unread, stderr, err := os.Pipe()
	require.NoError(t, err)
	a := &app{t: t, command: exec.Command(portaltest.Binary(t), args...)}
	a.command.Env, a.command.Dir, a.command.Stderr = portaltest.Environ(t.TempDir()), t.TempDir(), stderr
	a.in, err = a.command.StdinPipe()
	require.NoError(t, err)
	out, err := a.command.StdoutPipe()
	require.NoError(t, err)
	a.talks = contract.Talk(t, "cli")
	a.out = bufio.NewReader(io.TeeReader(out, a.talks.ReceivedLines()))
	require.NoError(t, a.command.Start())
	t.Cleanup(func() {
		_ = a.command.Process.Signal(syscall.SIGTERM) // a kill would leave the agent, which writes into directories of the test
		hung := time.AfterFunc(time.Minute, func() { _ = a.command.Process.Kill() })
		_ = a.command.Wait()
		hung.Stop()
		_, _ = unread.Close(), stderr.Close()
	})
	return a
}

func (a *app) say(lines ...string) {
	a.t.Helper()
	text := strings.Join(lines, "\n") + "\n"
	_, _ = io.WriteString(a.talks.SentLines(), text)
	_, err := io.WriteString(a.in, text)
	require.NoError(a.t, err)
}

// hear returns the next message that is not a chunk.
func (a *app) hear() document {
	a.t.Helper()
	for {
		line, err := a.out.ReadString('\n')
		require.NoError(a.t, err)
		for i := range len(line) {
			require.Less(a.t, line[i], byte(0x80), "not ASCII: %s", line)
		}
		var d document
		require.NoError(a.t, json.Unmarshal([]byte(line), &d), line)
		if d["method"] == nil {
			return d
		}
	}
}

// awaitExit waits for the end and returns the exit code.
func (a *app) awaitExit() int {
	a.t.Helper()
	began := testclock.Now()
	_, _ = io.Copy(io.Discard, a.out)
	_ = a.command.Wait() // the exit code is checked instead
	assert.Less(a.t, began.Elapsed(), 5*time.Second)
	return a.command.ProcessState.ExitCode()
}

func TestCLIFollowsItsProtocol(t *testing.T) {
	a := startApp(t, "cli", "--demo", "--debug")
	for _, c := range []struct {
		says, id string
		code     float64
	}{
		{`nonsense`, `null`, -32700},
		{`{"id":"1","method":"chat"}`, `"1"`, -32600},
		{`{"jsonrpc":"2.0","id":2.50,"method":"clarify"}`, `2.5`, -32601},
		{`{"jsonrpc":"2.0","id":"3","method":"generate","params":{"spec":{},"options":{"layout":3}}}`, `"3"`, -32602},
		{`{"jsonrpc":"2.0","id":4,"method":"generate"}`, `4`, -32602},
		{`{"jsonrpc":"2.0","id":5,"method":"generate","params":{"spec":{"format":"openapi3"}}}`, `5`, -32002},
	} {
		a.say(c.says)
		d := a.hear()
		id, err := json.Marshal(d["id"])
		require.NoError(t, err)
		assert.Equal(t, c.id, string(id))
		fault, _ := d["error"].(document)
		assert.InDelta(t, c.code, fault["code"], 0, "%v", d)
	}
	inner, err := json.Marshal(fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"generate","params":{"spec":%s}}`, films("Ünïcode 🎬", 1)))
	require.NoError(t, err)
	a.say(`{"jsonrpc":"2.0","id":6,"method":"chat","params":{"message":` + string(inner) + `}}`)
	result, _ := a.hear()["result"].(document)
	assert.Contains(t, result["code"], "Ünïcode 🎬", "a request in a message has its own result")

	a.say(`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"capabilities":{"streaming":false}}}`)
	a.hear()
	a.say(`{"jsonrpc":"2.0","id":8,"method":"chat","params":{"message":"say ` + "`Hello`" + `"}}`)
	line, err := a.out.ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, line, `"id":8,"result":{"message":"Hello"`, "no chunks")
}

func TestRequestsBeyondTheQueueAreRefused(t *testing.T) {
	a := startApp(t, "cli", "--demo")
	const room = 8 + 100
	for i := range room + 1 {
		a.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"chat","params":{"message":"wait 600 s","context":{"tabId":"a"}}}`, i))
	}
	d := a.hear()
	assert.InDelta(t, room, d["id"], 0)
	fault, _ := d["error"].(document)
	assert.InDelta(t, -32004, fault["code"], 0)
	a.say(`{"jsonrpc":"2.0","id":"still read","method":"initialize"}`)
	assert.Equal(t, "still read", a.hear()["id"])
	a.say(`{"jsonrpc":"2.0","method":"exit"}`)
	assert.Equal(t, 0, a.awaitExit())
}

func TestCLIEnds(t *testing.T) {
	for name, end := range map[string]func(*app){
		"with its input": func(a *app) { require.NoError(a.t, a.in.Close()) },
		"by SIGTERM":     func(a *app) { require.NoError(a.t, a.command.Process.Signal(syscall.SIGTERM)) },
		"by exit":        func(a *app) { a.say(`{"jsonrpc":"2.0","method":"exit"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			a := startApp(t, "cli", "--demo")
			a.say(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
			a.hear()
			end(a)
			assert.Equal(t, 0, a.awaitExit())
		})
	}
}

func TestCLIMethodsAreServedAtRPC(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
	call := func(method, params string) document {
		status, answer := p.Do("POST", "/rpc", `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
		require.Equal(t, 200, status)
		var d document
		require.NoError(t, json.Unmarshal([]byte(answer), &d), answer)
		return d
	}
	result, _ := call("generate", `{"spec":`+string(films("", 1))+`}`)["result"].(document)
	assert.Contains(t, result["code"], "function App()")
	result, _ = call("chat", `{"message":"What formats do you support?"}`)["result"].(document)
	assert.NotEmpty(t, result["suggestions"])
	fault, _ := call("generate", `{"spec":{"format":"openapi3"}}`)["error"].(document)
	assert.InDelta(t, -32002, fault["code"], 0)
}

package server_test

import (
	"bufio"
	"encoding/json"
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
	return startProgram(t, portaltest.Binary(t), args...)
}

func startProgram(t *testing.T, program string, args ...string) *app {
	t.Helper()
	unread, stderr, err := os.Pipe()
	require.NoError(t, err)
	a := &app{t: t, command: exec.Command(program, args...)}
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

// receive returns the next message.
func (a *app) receive() (d document) {
	a.t.Helper()
	line, err := a.out.ReadString('\n')
	require.NoError(a.t, err)
	for i := range len(line) {
		require.Less(a.t, line[i], byte(0x80), "not ASCII: %s", line)
	}
	require.NoError(a.t, json.Unmarshal([]byte(line), &d), line)
	return d
}

// hear returns the next message that is not a chunk, and the chunks before it.
func (a *app) hear() (d document, chunks []document) {
	a.t.Helper()
	for d = a.receive(); d["method"] != nil; d = a.receive() {
		chunk, _ := d["params"].(document)
		chunks = append(chunks, chunk)
	}
	return d, chunks
}

// call calls a method and returns its result or its error, and the chunks before it.
func (a *app) call(method string, params document) (result document, chunks []document) {
	a.t.Helper()
	raw, err := json.Marshal(document{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(a.t, err)
	a.say(string(raw))
	d, chunks := a.hear()
	result, isResult := d["result"].(document)
	if !isResult {
		result, _ = d["error"].(document)
	}
	return result, chunks
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

func TestAppUsesTheCLI(t *testing.T) {
	a := startProgram(t, linked(t), "--stdio", "--demo", "--unknown=1", "more")
	hello, _ := a.call("initialize", document{"clientName": "test", "clientVersion": "1", "capabilities": document{"streaming": true}})
	assert.Equal(t, "copilot-cli", hello["serverName"])
	assert.Equal(t, document{"codeGeneration": true, "customization": true, "streaming": true}, hello["capabilities"])

	generate := func(description string, endpoints int) document {
		return document{"spec": films(description, endpoints), "format": "react", "theme": "dark", "options": document{"layout": "default", "includeAuth": true, "pagination": false}}
	}
	generated, chunks := a.call("generate", generate("", 2))
	streamed := ""
	for i, c := range chunks {
		assert.InDelta(t, i, c["index"], 0)
		assert.Equal(t, i == len(chunks)-1, c["done"])
		streamed += fmt.Sprint(c["chunk"])
	}
	assert.Equal(t, generated["code"], streamed)
	assert.Contains(t, streamed, `"theme":"dark"`)
	assert.Contains(t, streamed, `"auth":true,"pagination":false`)
	assert.Greater(t, generated["componentCount"], 5.0)
	assert.Contains(t, generated["description"], "2 operations")

	customize := func(prompt string, history ...document) document {
		return document{"currentCode": streamed, "prompt": prompt, "spec": films("", 2), "history": append([]document{}, history...)}
	}
	customized, _ := a.call("customize", customize("Add a search bar"))
	assert.Contains(t, customized["code"], `"search":true`)
	assert.NotEmpty(t, customized["assumptions"])
	customized, _ = a.call("customize", customize("Add a search bar to the table"))
	assert.Nil(t, customized["code"])
	assert.Equal(t, true, customized["clarificationNeeded"])
	assert.Equal(t, []any{"tag0 table", "tag1 table", "All tables"}, customized["options"])
	customized, _ = a.call("customize", customize("tag1 table",
		document{"role": "user", "content": "Add a search bar to the table"}, document{"role": "assistant", "content": customized["question"]}))
	assert.Contains(t, customized["code"], `"searchIn":"tag1"`)

	chatted, _ := a.call("chat", document{
		"message": "What formats do you support?", "context": document{"tabId": "a", "hasActiveSpec": true, "hasActiveInterface": false},
	})
	assert.Contains(t, chatted["message"], "OpenAPI 3")
	assert.Contains(t, chatted["message"], "Your description can be made an interface")
	assert.NotEmpty(t, chatted["suggestions"])

	repaired, _ := a.call("generate", generate("<!-- demo: broken -->", 1))
	assert.NotEmpty(t, repaired["code"])
	for name, c := range map[string]struct {
		code   float64
		method string
		params document
	}{
		"code that stays invalid":  {-32000, "generate", generate("<!-- demo: broken twice -->", 1)},
		"an impossible change":     {-32001, "customize", customize("Brew coffee")},
		"an invalid specification": {-32002, "generate", document{"spec": document{"format": "x"}}},
		"a huge specification":     {-32003, "generate", generate("", 2000)},
		"an empty request":         {-32602, "customize", customize(" ")},
	} {
		failure, _ := a.call(c.method, c.params)
		assert.InDelta(t, c.code, failure["code"], 0, "%s: %v", name, failure)
	}
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
		d, _ := a.hear()
		id, err := json.Marshal(d["id"])
		require.NoError(t, err)
		assert.Equal(t, c.id, string(id))
		fault, _ := d["error"].(document)
		assert.InDelta(t, c.code, fault["code"], 0, "%v", d)
	}
	inner, err := json.Marshal(fmt.Sprintf(`{"jsonrpc":"2.0","id":9,"method":"generate","params":{"spec":%s}}`, films("Ünïcode 🎬", 1)))
	require.NoError(t, err)
	a.say(`{"jsonrpc":"2.0","id":6,"method":"chat","params":{"message":` + string(inner) + `}}`)
	d, _ := a.hear()
	result, _ := d["result"].(document)
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
	d, _ := a.hear()
	assert.InDelta(t, room, d["id"], 0)
	fault, _ := d["error"].(document)
	assert.InDelta(t, -32004, fault["code"], 0)
	a.say(`{"jsonrpc":"2.0","id":"still read","method":"initialize"}`)
	d, _ = a.hear()
	assert.Equal(t, "still read", d["id"])
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

func TestCLIEndsByExitAlthoughTheAppReadsNothing(t *testing.T) {
	a := startApp(t, "cli", "--demo")
	for i := range 5000 { // answers to more than a pipe takes
		a.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"nothing"}`, i))
	}
	a.say(`{"jsonrpc":"2.0","method":"exit"}`)
	hung := time.AfterFunc(time.Minute, func() { _ = a.command.Process.Kill() })
	defer hung.Stop()
	began := testclock.Now()
	require.NoError(t, a.command.Wait())
	assert.Less(t, began.Elapsed(), 5*time.Second)
}

func servesCLIMethods(t *testing.T, p *portaltest.Portal) {
	t.Helper()
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

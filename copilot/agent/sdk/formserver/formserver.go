// Package formserver is a small MCP server for tests, built into the test's own program. Its tools ask the
// user: "form" for fields, "visit" to open a page. Arguments override the parameters of the elicitation. Its tool "where" returns the
// directory of the server and the value of [Mark].
package formserver

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Variable is set in the environment of a test program that must call [Serve].
const Variable = "PORTAL_TEST_MCP"

// Mark is a variable that a test program passes to [Serve].
const Mark = "PORTAL_TEST_MARK"

// Configure adds MCP servers to a home of the CLI: "desk", "gone", which cannot start, and others that are
// reached over HTTP, given as names and addresses.
func Configure(tb testing.TB, home string, others map[string]string) {
	tb.Helper()
	self, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	servers := map[string]any{
		"desk": server(self, map[string]string{Variable: "1"}),
		"gone": server(filepath.Join(home, "nothing"), map[string]string{}),
	}
	for name, address := range others {
		servers[name] = map[string]any{"type": "http", "url": address, "tools": []string{"*"}}
	}
	config, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err == nil {
		err = os.WriteFile(filepath.Join(home, "mcp-config.json"), config, 0o600)
	}
	if err != nil {
		tb.Fatal(err)
	}
}

func server(command string, env map[string]string) any {
	return map[string]any{"type": "local", "command": command, "args": []string{}, "tools": []string{"*"}, "env": env}
}

const form = `{"message":"Who are you?","requestedSchema":{"type":"object","required":["name"],"properties":{
	"name":{"type":"string","title":"Name","minLength":2},"age":{"type":"integer","minimum":0},
	"color":{"type":"string","enum":["red","green"],"enumNames":["Red","Green"]},"news":{"type":"boolean","default":true}}}}`

const visit = `{"mode":"url","elicitationId":"1","url":"https://example.com/login","message":"Sign in there"}`

// message is a message of the protocol: a request, or the response to our only request.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Name      string
		Arguments json.RawMessage
	}
	Result json.RawMessage
}

// Serve answers requests until in ends. The tool "where" returns mark.
func Serve(in io.Reader, out io.Writer, mark string) {
	var call json.RawMessage // the id of the current tool call
	for lines := bufio.NewScanner(in); lines.Scan(); {
		var m message
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch m.Method {
		case "tools/call":
			if m.Params.Name == "where" {
				where(out, m.ID, mark)
				continue
			}
			call = m.ID
			ask(out, m.Params.Name, string(m.Params.Arguments))
		case "":
			answerQuestion(out, call, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, m.Result))
		default:
			m.answer(out)
		}
	}
}

// answer answers requests that need no user.
func (m message) answer(out io.Writer) {
	switch m.Method {
	case "initialize":
		answerQuestion(out, m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"desk","version":"1"}}`)
	case "tools/list":
		answerQuestion(out, m.ID, `{"tools":[{"name":"form","inputSchema":{"type":"object"}},{"name":"visit","inputSchema":{"type":"object"}},{"name":"where","inputSchema":{"type":"object"}}]}`)
	default:
		line(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID)
	}
}

func where(out io.Writer, id json.RawMessage, mark string) {
	dir, _ := os.Getwd() // "" says that it is unknown
	answerQuestion(out, id, fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, "in "+dir+" with "+mark))
}

func ask(out io.Writer, tool, arguments string) {
	what := form
	if tool == "visit" {
		what = visit
	}
	if len(arguments) > len("null") {
		what = arguments
	}
	line(out, `{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":%s}`, strings.ReplaceAll(what, "\n", " "))
}

func answerQuestion(out io.Writer, id json.RawMessage, result string) {
	line(out, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func line(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, format+"\n", args...) // a failure means that the reader has ended
}

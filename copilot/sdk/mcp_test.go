package sdk_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mcpVariable makes the test's own program an MCP server whose tools ask the
// user: "form" for fields, "visit" to open a page.
const mcpVariable = "PORTAL_TEST_MCP"

// withMCP configures servers in a home of the CLI: "desk", which asks, "vault",
// which wants a sign-in, and "gone", which does not start.
func withMCP(tb testing.TB, home string) {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	config, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"desk":  map[string]any{"type": "local", "command": self, "args": []string{}, "tools": []string{"*"}, "env": map[string]string{mcpVariable: "1"}},
		"vault": map[string]any{"type": "http", "url": vault(tb), "tools": []string{"*"}},
		"gone":  map[string]any{"type": "local", "command": filepath.Join(home, "nothing"), "args": []string{}, "tools": []string{"*"}},
	}})
	require.NoError(tb, err)
	require.NoError(tb, os.WriteFile(filepath.Join(home, "mcp-config.json"), config, 0o600))
}

const deskForm = `{"message":"Who are you?","requestedSchema":{"type":"object","required":["name"],"properties":{
	"name":{"type":"string","title":"Name","minLength":2},"age":{"type":"integer","minimum":0},
	"color":{"type":"string","enum":["red","green"],"enumNames":["Red","Green"]},"news":{"type":"boolean","default":true}}}}`

const deskVisit = `{"mode":"url","elicitationId":"1","url":"https://example.com/login","message":"Sign in there"}`

func serveMCP() {
	in := bufio.NewScanner(os.Stdin)
	var call json.RawMessage // the id of the tool call under way
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
			Result json.RawMessage
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := func(result string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result) }
		switch m.Method {
		case "initialize":
			answer(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"desk","version":"1"}}`)
		case "tools/list":
			answer(`{"tools":[{"name":"form","inputSchema":{"type":"object"}},{"name":"visit","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			call = m.ID
			elicit := deskForm
			if m.Params.Name == "visit" {
				elicit = deskVisit
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":"e","method":"elicitation/create","params":%s}`+"\n", strings.ReplaceAll(elicit, "\n", " "))
		case "":
			m.ID = call
			answer(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, m.Result))
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`+"\n", m.ID)
		}
	}
}

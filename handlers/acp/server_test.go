package acp_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/handlers/acp"
)

// program is an MCP server of an editor.
func program(name, secret string) document {
	return document{"name": name, "command": "/usr/bin/" + name, "args": []any{"-x"}, "env": []any{document{"name": "KEY", "value": secret}}}
}

func programConfig(name, secret string) agent.ServerConfig {
	return agent.ServerConfig{Name: name, Command: "/usr/bin/" + name, Args: []string{"-x"}, Env: map[string]string{"KEY": secret}}
}

// serversOpened lists the servers of the opened conversations.
func (f *fixture) serversOpened() (list [][]agent.ServerConfig) {
	for _, c := range f.agents.Calls(fake.Open) {
		list = append(list, c.Opening.Servers)
	}
	return list
}

func TestSessionHasTheServersOfTheEditor(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		headers := []any{document{"name": "Authorization", "value": "Bearer x"}}
		e.call("session/new", document{"cwd": "/", "mcpServers": []any{
			program("desk", "1"),
			document{"type": "http", "name": "web", "url": "https://example.com/mcp", "headers": headers},
			document{"type": "sse", "name": "old", "url": "https://example.com/sse", "headers": []any{}},
		}})
		assert.Equal(t, [][]agent.ServerConfig{{
			programConfig("desk", "1"),
			{Name: "old", URL: "https://example.com/sse", SSE: true, Headers: map[string]string{}},
			{Name: "web", URL: "https://example.com/mcp", Headers: map[string]string{"Authorization": "Bearer x"}},
		}}, t.serversOpened())
		e.leave()
	})
}

func TestServersAreReplacedWhenASessionIsOpenedAgain(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session, _ := e.call("session/new", document{"cwd": "/", "mcpServers": []any{program("desk", "1")}})["sessionId"].(string)
		reopen := func(method string, servers ...any) {
			t.Helper()
			params := document{"sessionId": session, "cwd": "/"}
			if servers != nil {
				params["mcpServers"] = servers
			}
			e.call(method, params)
			e.prompt(session, "hello")
		}
		e.prompt(session, "hello")
		reopen("session/load", program("desk", "1"))
		reopen("session/resume")
		assert.Len(t, t.serversOpened(), 1, "the same servers, or none said, are not a change")
		reopen("session/resume", program("desk", "2"))
		reopen("session/load", []any{}...)
		e.leave()
		desk := func(secret string) []agent.ServerConfig { return []agent.ServerConfig{programConfig("desk", secret)} }
		assert.Equal(t, [][]agent.ServerConfig{desk("1"), desk("2"), nil}, t.serversOpened())
	})
}

func TestInvalidServersAreRefused(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(nil, acp.Client{})
		session := e.start()
		for want, servers := range map[string][]any{
			`MCP server "web": the URL must begin with`: {document{"type": "http", "name": "web", "url": "ftp://x", "headers": []any{}}},
			"needs a name":                {program("", "")},
			"needs either a command":      {document{"name": "desk", "command": "", "args": []any{}, "env": []any{}}},
			"two MCP servers":             {program("desk", "1"), program("desk", "2")},
			`is not the name of a header`: {document{"type": "sse", "name": "web", "url": "http://x", "headers": []any{document{"name": "a b", "value": "x"}}}},
		} {
			for method, params := range map[string]document{
				"session/new":    {"cwd": "/", "mcpServers": servers},
				"session/load":   {"sessionId": session, "cwd": "/", "mcpServers": servers},
				"session/resume": {"sessionId": session, "cwd": "/", "mcpServers": servers},
			} {
				_, err := e.try(method, params)
				require.ErrorContains(t, err, want, method)
			}
		}
		assert.Equal(t, "end_turn", e.prompt(session, "hello"), "the session is still open")
		e.leave()
	})
}

func TestEditorSeesThatTheAgentCannotUseItsServers(t *testing.T) {
	for _, capabilities := range []document{nil, everything} {
		serve(t, nil, func(t *fixture) {
			t.agents.Before = fake.On(fake.Open, func(_ context.Context, c fake.Call) error {
				c.Emit(event.SessionError{Kind: fault.Invalid, Text: "no servers here"})
				return nil
			})
			e := t.connect(capabilities, acp.Client{})
			e.call("session/new", document{"cwd": "/", "mcpServers": []any{program("desk", "1")}})
			if capabilities == nil {
				assert.Contains(t, e.text("agent_message_chunk"), "no servers here")
			} else {
				assert.Equal(t, "no servers here", e.seen("notice")[0]["title"])
			}
			e.leave()
		})
	}
}

func TestEditorSeesWhyAServerDidNotStart(t *testing.T) {
	serve(t, nil, func(t *fixture) {
		e := t.connect(everything, acp.Client{})
		session := e.start()
		t.agents.Emit(session,
			event.ServerChanged{Server: event.Server{Name: "web", State: event.ServerConnected}},
			event.ServerChanged{Server: event.Server{Name: "desk", State: event.ServerFailed, Error: "no such file"}},
		)
		notices := e.seen("notice")
		require.Len(t, notices, 1)
		assert.Equal(t, "The MCP server desk did not start.", notices[0]["title"])
		assert.Equal(t, "no such file", notices[0]["description"])
		e.leave()
	})
}

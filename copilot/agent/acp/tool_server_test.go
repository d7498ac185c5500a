package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/copilot/permission"
)

// offered is the MCP server that a session was opened with.
type offered struct {
	Name    string `json:"name"`
	URL     string `json:"url"`
	Headers []struct{ Name, Value string }
}

// toolAgent is an agent with MCP servers over HTTP. Its sessions are s1, s2 and so on; work is what it does for a prompt of a session.
func toolAgent(t *testing.T, work func(ctx context.Context, p *jsonrpc.Peer, session string, server offered)) *scripted {
	t.Helper()
	var mu sync.Mutex
	servers := map[string]offered{}
	return script(t, "x", jsonrpc.Methods{
		"initialize": answer(`{"protocolVersion":1,"agentCapabilities":{"mcpCapabilities":{"http":true}}}`),
		"session/new": {Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			var p struct {
				Servers []offered `json:"mcpServers"`
			}
			if err := r.Decode(&p); err != nil {
				return nil, err
			}
			if err := p.Servers[0].use(ctx, func(s *mcp.ClientSession) error {
				_, err := s.ListTools(ctx, nil)
				return err
			}); err != nil {
				return nil, err
			}
			mu.Lock()
			defer mu.Unlock()
			id := fmt.Sprintf("s%d", len(servers)+1)
			servers[id] = p.Servers[0]
			return document{"sessionId": id}, nil
		}},
		"session/prompt": {Handle: func(ctx context.Context, r *jsonrpc.Request) (any, error) {
			var p struct {
				SessionID string `json:"sessionId"`
			}
			if err := r.Decode(&p); err != nil {
				return nil, err
			}
			mu.Lock()
			server := servers[p.SessionID]
			mu.Unlock()
			work(ctx, r.Peer, p.SessionID, server)
			return document{"stopReason": "end_turn"}, nil
		}},
	})
}

// withHeaders adds headers to requests.
type withHeaders struct{ offered }

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, h := range w.Headers {
		r.Header.Set(h.Name, h.Value)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// use connects to the server as an agent does.
func (o offered) use(ctx context.Context, do func(*mcp.ClientSession) error) error {
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: o.URL, HTTPClient: &http.Client{Transport: withHeaders{o}}}, nil)
	if err != nil {
		return err
	}
	return errors.Join(do(session), session.Close())
}

// call calls the tool "look" and returns the text of the result.
func (o offered) call(ctx context.Context, arguments string) (text string, err error) {
	err = o.use(ctx, func(s *mcp.ClientSession) error {
		result, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "look", Arguments: json.RawMessage(arguments)})
		if err != nil {
			return err
		}
		content, _ := result.Content[0].(*mcp.TextContent)
		text = content.Text
		return nil
	})
	return text, err
}

// openWithTool opens a conversation with the tool "look", which answers every question about it with yes, or with reply.
func openWithTool(t *testing.T, a agent.Agent, directory, reply string) (agent.Conversation, <-chan event.Body) {
	t.Helper()
	bodies := make(chan event.Body, 100)
	var c agent.Conversation
	opened := make(chan struct{})
	o := agent.Opening{Session: reply, Model: "x/default", Directory: directory, Tools: []event.Tool{{Name: "look"}}}
	c, err := a.Open(t.Context(), o, func(_ string, b event.Body) {
		bodies <- b
		if q, ok := b.(event.QuestionAsked); ok && q.Question.Tool == "look" {
			go func() {
				<-opened
				_ = c.Answer(context.Background(), q.Question, event.Answer{Approved: q.Question.Kind == event.AskPermission, Text: textFor(q.Question, reply)}) // the result shows it
			}()
		}
	})
	require.NoError(t, err)
	close(opened)
	return c, bodies
}

func textFor(q event.Question, reply string) string {
	if q.Kind == event.AskTool {
		return reply
	}
	return ""
}

func awaitIdle(t *testing.T, bodies <-chan event.Body) (list []event.Body) {
	t.Helper()
	late := time.After(time.Minute)
	for {
		select {
		case b := <-bodies:
			list = append(list, b)
			if _, idle := b.(event.Idle); idle {
				return list
			}
		case <-late:
			require.Fail(t, "the prompt does not end", "%+v", list)
		}
	}
}

// Sessions in the same directory with the same tools share a server. The arguments say which of them calls.
func TestCallOfAToolGoesToTheSessionThatAnnouncedIt(t *testing.T) {
	var mu sync.Mutex
	results := map[string]string{}
	var announced sync.WaitGroup
	announced.Add(2)
	s := toolAgent(t, func(ctx context.Context, p *jsonrpc.Peer, session string, server offered) {
		_ = p.Notify(ctx, "session/update", document{"sessionId": session, "update": document{ // it fails with the connection
			"sessionUpdate": "tool_call", "toolCallId": "c-" + session, "title": server.Name + ".look", "kind": "other", "rawInput": document{"of": session},
		}})
		announced.Done()
		announced.Wait()
		text, err := server.call(ctx, `{"of":"`+session+`"}`)
		mu.Lock()
		defer mu.Unlock()
		results[session] = fmt.Sprint(text, err)
	})
	a, directory := s.launch(), t.TempDir()
	first, firstBodies := openWithTool(t, a, directory, "one")
	second, secondBodies := openWithTool(t, a, directory, "two")
	require.NoError(t, first.Send(t.Context(), event.Prompt{Text: "go"}))
	require.NoError(t, second.Send(t.Context(), event.Prompt{Text: "go"}))
	for _, bodies := range []<-chan event.Body{firstBodies, secondBodies} {
		started := 0
		for _, b := range awaitIdle(t, bodies) {
			if tool, ok := b.(event.ToolStarted); ok {
				assert.Equal(t, "look", tool.Name)
				started++
			}
		}
		assert.Equal(t, 1, started, "the announcement is not reported as a call of its own")
	}
	assert.Equal(t, map[string]string{"s1": "one<nil>", "s2": "two<nil>"}, results)
}

func TestToolsAreServedOnlyWithTheToken(t *testing.T) {
	s := toolAgent(t, func(ctx context.Context, _ *jsonrpc.Peer, _ string, server offered) {
		server.Headers = nil
		_, err := server.call(ctx, `{}`)
		assert.ErrorContains(t, err, "Unauthorized")
	})
	c, bodies := openWithTool(t, s.launch(), t.TempDir(), "one")
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
	awaitIdle(t, bodies)
}

// Agents announce calls of MCP servers' tools in their own ways.
func TestCallOfAToolIsRecognized(t *testing.T) {
	for name, call := range map[string]func(server string) document{
		"Codex": func(server string) document {
			return document{"kind": "execute", "title": "mcp." + server + ".look", "rawInput": document{"server": server, "tool": "look", "arguments": document{"a": 1}}}
		},
		"Gemini CLI": func(server string) document {
			return document{"kind": "other", "title": "look (" + server + " MCP Server)"}
		},
		"Claude Code": func(server string) document {
			return document{"kind": "other", "name": "mcp__" + server + "__look", "title": "mcp__" + server + "__look"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := toolAgent(t, func(ctx context.Context, p *jsonrpc.Peer, session string, server offered) {
				u := call(server.Name)
				u["sessionUpdate"], u["toolCallId"], u["status"] = "tool_call", "c1", "in_progress"
				_ = p.Notify(ctx, "session/update", document{"sessionId": session, "update": u}) // it fails with the connection
				text, err := server.call(ctx, `{"a":1}`)
				assert.Equal(t, "one<nil>", fmt.Sprint(text, err))
			})
			c, bodies := openWithTool(t, s.launch(), t.TempDir(), "one")
			require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
			for _, b := range awaitIdle(t, bodies) {
				if tool, ok := b.(event.ToolStarted); ok {
					assert.Equal(t, "look", tool.Name, "the announcement is not reported as a call of its own")
				}
			}
		})
	}
}

// A tool call that only looks like that of a client's tool is asked about as what it is.
func TestDisguisedCallIsNotApproved(t *testing.T) {
	t.Run("with the title of a tool", func(t *testing.T) { disguise(t, "", document{"command": "rm -rf x"}) })
	t.Run("as Codex announces tools", func(t *testing.T) {
		disguise(t, "mcp.", document{"command": "rm -rf x", "tool": "look", "arguments": document{}})
	})
}

// disguise makes an agent ask for a command that looks like a client's tool.
func disguise(t *testing.T, prefix string, input document) {
	t.Helper()
	var result struct{ Outcome struct{ Outcome string } }
	s := toolAgent(t, func(ctx context.Context, p *jsonrpc.Peer, session string, server offered) {
		title := prefix + server.Name + ".look"
		if prefix != "" {
			input["server"] = server.Name
		}
		_ = p.Notify(ctx, "session/update", document{"sessionId": session, "update": document{ // it fails with the connection
			"sessionUpdate": "tool_call", "toolCallId": "c1", "title": title, "kind": "other",
		}})
		_ = p.Call(ctx, "session/request_permission", document{"sessionId": session, "options": []document{{"optionId": "yes", "kind": "allow_once", "name": "Yes"}}, "toolCall": document{ // as above
			"toolCallId": "c1", "title": title, "kind": "execute", "rawInput": input,
		}}, &result)
	})
	c, bodies := openWithTool(t, s.launch(), t.TempDir(), "one")
	require.NoError(t, c.Send(t.Context(), event.Prompt{Text: "go"}))
	for {
		select {
		case b := <-bodies:
			if q, ok := b.(event.QuestionAsked); ok {
				assert.Equal(t, []string{permission.Exec}, q.Question.Names)
				assert.Equal(t, "rm -rf x", q.Question.Detail)
				require.NoError(t, c.Answer(t.Context(), q.Question, event.Answer{}))
				awaitIdle(t, bodies)
				assert.Equal(t, "cancelled", result.Outcome.Outcome, "there is no option that refuses")
				return
			}
		case <-time.After(time.Minute):
			require.Fail(t, "nobody is asked")
		}
	}
}

package acp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// toolServer is an MCP server on loopback with the tools of clients, for the process of one agent. Each conversation has a token of
// its own, without which nothing is served.
type toolServer struct {
	http *http.Server
	url  string
	work sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*mcp.Server // by token
}

// headTimeout limits the time for the header of a request.
const headTimeout = 10 * time.Second

func startToolServer() (*toolServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is done at once
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "the tools of clients cannot be served: %w", err)
	}
	s := &toolServer{url: "http://" + listener.Addr().String() + "/mcp", servers: map[string]*mcp.Server{}}
	handler := mcp.NewStreamableHTTPHandler(s.find, nil)
	s.http = &http.Server{ReadHeaderTimeout: headTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.find(r) == nil {
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})}
	s.work.Go(func() { _ = s.http.Serve(listener) }) // it ends with close
	return s, nil
}

// find returns the server for the token of a request, or nil.
func (s *toolServer) find(r *http.Request) *mcp.Server {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.servers[token]
}

// toolServer returns the server of the agent's process, which ends with it.
func (a *Agent) toolServer() (*toolServer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tools != nil {
		return a.tools, nil
	}
	s, err := startToolServer()
	if err != nil {
		return nil, err
	}
	a.tools = s
	s.work.Go(func() {
		<-a.link.Done()
		_ = s.http.Close() // everything ends in any case
	})
	return s, nil
}

// clientTools are the tools of a conversation that clients execute.
type clientTools struct {
	server string // name of the MCP server, by which the agent's names of the tools begin
	token  string
	tools  []event.Tool
}

// offerTools adds a server with the tools of clients to those of the conversation. Errors: kind [fault.Invalid] for tools that cannot be offered.
func (c *conversation) offerTools(session string, tools []event.Tool) error {
	if len(tools) == 0 {
		return nil
	}
	if !c.agent.info.Capabilities.Servers.HTTP {
		return c.agent.cannot("use client tools: it has no MCP servers over HTTP")
	}
	if err := event.CheckTools(tools); err != nil {
		return err
	}
	s, err := c.agent.toolServer()
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(session)) // the name stays, because the model may repeat what it has seen
	c.tools = clientTools{server: "portal_" + hex.EncodeToString(hash[:3]), token: rand.Text(), tools: tools}
	server := mcp.NewServer(&mcp.Implementation{Name: c.tools.server, Version: c.agent.driver.options.Version}, nil)
	for _, t := range tools {
		server.AddTool(&mcp.Tool{Name: t.Alias(), Title: c.tools.server + "." + t.Alias(), Description: t.Description, InputSchema: objectSchema(t.Schema)}, c.toolHandler(t))
	}
	s.mu.Lock()
	s.servers[c.tools.token] = server
	s.mu.Unlock()
	c.servers = append(c.servers, mcpServer{
		Type: "http", Name: c.tools.server, URL: s.url, Headers: []namedText{{"Authorization", "Bearer " + c.tools.token}},
	})
	return nil
}

// withdrawTools ends the use of the tools.
func (c *conversation) withdrawTools() {
	if c.tools.token == "" {
		return
	}
	c.agent.mu.Lock()
	s := c.agent.tools
	c.agent.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.servers, c.tools.token)
}

// objectSchema returns a schema of an object, as MCP requires.
func objectSchema(schema json.RawMessage) map[string]any {
	object := map[string]any{}
	_ = json.Unmarshal(schema, &object) // it was checked
	object["type"] = "object"
	return object
}

// find returns the client tool that the agent means with the name of a tool call. Names begin with that of the server, which no
// other server has.
func (t clientTools) find(name string) (event.Tool, bool) {
	rest, ok := strings.CutPrefix(name, t.server)
	if !ok || t.server == "" || rest == "" {
		return event.Tool{}, false
	}
	rest = strings.TrimLeft(rest, "-_/. ")
	for _, tool := range t.tools {
		if tool.Alias() == rest {
			return tool, true
		}
	}
	return event.Tool{}, false
}

// toolHandler returns the function that the agent calls. The user is asked first, under the tool's own name.
func (c *conversation) toolHandler(t event.Tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		id, q := c.beginClientTool(t, r.Params.Arguments)
		if q == nil {
			return failedCall("no prompt is running"), nil
		}
		answer, ok := q.await(ctx)
		if ok && answer.Approved {
			if q = c.askTool(id, t, r.Params.Arguments); q != nil {
				answer, ok = q.await(ctx)
			}
		} else {
			answer.Failed = true
		}
		return c.endClientTool(id, answer, ok && q != nil), nil
	}
}

// beginClientTool reports the start of a call and asks for its permission; nil without a turn.
func (c *conversation) beginClientTool(t event.Tool, arguments json.RawMessage) (id string, q *openQuestion) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil || c.turn.aborted || c.closed {
		return "", nil
	}
	c.endText(c.turn)
	c.startCalls(c.turn)
	id = c.nextID()
	c.turn.clientCalls = append(c.turn.clientCalls, id)
	c.emit(event.ToolStarted{ID: id, Name: t.Name, Arguments: arguments})
	permit := event.Question{Kind: event.AskPermission, Call: id, Tool: t.Name, Title: "Use " + t.Name, Detail: string(arguments)}
	permit.SetNeeds(permission.Need{Name: permission.OfTool(t.Name, arguments)})
	return id, c.ask(permit)
}

// askTool asks the clients for the result of a call; nil if the turn has ended.
func (c *conversation) askTool(id string, t event.Tool, arguments json.RawMessage) *openQuestion {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil || c.turn.aborted || c.closed {
		return nil
	}
	return c.ask(event.Question{Kind: event.AskTool, Call: id, Tool: t.Name, Arguments: arguments})
}

// endClientTool reports the end of a call and returns the result for the agent.
func (c *conversation) endClientTool(id string, a event.Answer, answered bool) *mcp.CallToolResult {
	if !answered {
		return failedCall("the call was withdrawn")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn != nil && c.turn.endClientCall(id) {
		end := event.ToolEnded{ID: id, Result: &event.ToolResult{Content: a.Text}}
		if a.Failed {
			end.Result, end.Error = nil, &event.ToolError{Text: failure(a)}
		}
		c.emit(end)
	}
	if a.Failed {
		return failedCall(failure(a))
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: a.Text}}}
}

// failure returns why a call failed or was refused.
func failure(a event.Answer) string { return cmp.Or(a.Reason, "The user refused it.") }

func failedCall(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// isClientTool reports whether a tool call of the agent is the call of a client's tool, which is reported when the agent calls the server.
func (c *conversation) isClientTool(u toolUpdate) bool {
	if u.Kind != "" && u.Kind != "other" {
		return false // what runs commands or changes files is none, whatever its title is
	}
	_, named := c.tools.find(u.Name)
	_, titled := c.tools.find(u.Title)
	return named || titled
}

// endClientCall removes an open call, and reports whether there was one.
func (t *turn) endClientCall(id string) bool {
	i := slices.Index(t.clientCalls, id)
	if i >= 0 {
		t.clientCalls = slices.Delete(t.clientCalls, i, i+1)
	}
	return i >= 0
}

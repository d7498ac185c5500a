package acp

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// toolServer serves the tools of clients on loopback, for the process of one agent, which has a token for it. Conversations in the same
// directory with the same tools share an MCP server: some agents offer the servers of each conversation to all others there.
type toolServer struct {
	http  *http.Server
	url   string
	token string
	work  sync.WaitGroup

	mu      sync.Mutex
	servers map[string]*offer // by name
}

// offer is an MCP server with tools.
type offer struct {
	server *mcp.Server
	listed chan struct{} // closed when the agent has listed the tools
}

// headTimeout limits the time for the header of a request.
const headTimeout = 10 * time.Second

func startToolServer() (*toolServer, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is done at once
	if err != nil {
		return nil, fault.Errorf(fault.Unavailable, "the tools of clients cannot be served: %w", err)
	}
	s := &toolServer{url: "http://" + listener.Addr().String() + "/mcp/", token: rand.Text(), servers: map[string]*offer{}}
	handler := mcp.NewStreamableHTTPHandler(s.find, nil)
	s.http = &http.Server{ReadHeaderTimeout: headTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if s.find(r) == nil {
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})}
	s.work.Go(func() { _ = s.http.Serve(listener) }) // it ends with the agent's process
	return s, nil
}

// find returns the server that a request names, or nil. The request must have the token.
func (s *toolServer) find(r *http.Request) *mcp.Server {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+s.token)) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.servers[path.Base(r.URL.Path)]; o != nil {
		return o.server
	}
	return nil
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
		s.close()
	})
	return s, nil
}

// close ends all calls and connections.
func (s *toolServer) close() {
	s.mu.Lock()
	offers := slices.Collect(maps.Values(s.servers))
	s.mu.Unlock()
	for _, o := range offers {
		for session := range o.server.Sessions() {
			_ = session.Close() // everything ends in any case
		}
	}
	_ = s.http.Close() // as above
}

// clientTools are the tools of a conversation that clients execute.
type clientTools struct {
	server string // name of the MCP server, by which the agent's names of the tools begin
	tools  []event.Tool
	listed <-chan struct{} // closed when the agent has listed them
}

// listPatience is how long a prompt waits until the agent has listed the tools: some agents connect to servers after they have opened a
// conversation, and the model would not be offered the tools.
const listPatience = 5 * time.Second

// await waits until the agent has listed the tools, or does not seem to.
func (t clientTools) await(ctx context.Context) error {
	if t.listed == nil {
		return nil
	}
	select {
	case <-t.listed:
	case <-time.After(listPatience):
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// offerTools adds a server with the tools of clients to those of the conversation. Errors: kind [fault.Invalid] for tools that cannot be offered.
func (c *conversation) offerTools(tools []event.Tool) error {
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
	secret, err := c.agent.driver.saved.secret()
	if err != nil {
		return fault.Errorf(fault.Unavailable, "the tools of clients cannot be offered: %w", err)
	}
	name := serverName(secret, c.directory, tools)
	c.tools = clientTools{server: name, tools: tools, listed: s.offer(c.agent, name, tools)}
	c.servers = append(c.servers, mcpServer{
		Type: "http", Name: name, URL: s.url + name, Headers: []namedText{{"Authorization", "Bearer " + s.token}},
	})
	return nil
}

// serverName returns the name of the server with tools in a directory. It is the same after a restart, because the model may repeat
// what it has seen, and no other server can guess it.
func serverName(secret, directory string, tools []event.Tool) string {
	hash := sha256.Sum256(fmt.Appendf(nil, "%s\n%s\n%+v", secret, directory, tools))
	return "portal_" + hex.EncodeToString(hash[:4])
}

// offer adds a server with tools unless there is one, and returns a channel that is closed when the agent has listed the tools.
func (s *toolServer) offer(a *Agent, name string, tools []event.Tool) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.servers[name]; o != nil {
		return o.listed
	}
	o := &offer{server: mcp.NewServer(&mcp.Implementation{Name: name, Version: a.driver.options.Version}, nil), listed: make(chan struct{})}
	o.server.AddReceivingMiddleware(o.noteList)
	for _, t := range tools {
		// Some agents show the title as that of the call.
		o.server.AddTool(&mcp.Tool{Name: t.Alias(), Title: name + "." + t.Alias(), Description: t.Description, InputSchema: objectSchema(t.Schema)}, a.toolHandler(name, t))
	}
	s.servers[name] = o
	return o.listed
}

// noteList notes that the agent lists the tools.
func (o *offer) noteList(next mcp.MethodHandler) mcp.MethodHandler {
	note := sync.OnceFunc(func() { close(o.listed) })
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		if method == "tools/list" {
			note()
		}
		return result, err
	}
}

// objectSchema returns a schema of an object, as MCP requires.
func objectSchema(schema json.RawMessage) map[string]any {
	object := map[string]any{}
	_ = json.Unmarshal(schema, &object) // it was checked
	object["type"] = "object"
	return object
}

// clientTool returns the server and the tool of a client that a tool call of the agent means, if it means one. Names of tools begin with
// that of their server, which no server of others has. It may be the server of another conversation in the same directory: some agents offer
// servers to all of them.
func (c *conversation) clientTool(u toolUpdate) (server, tool string, ok bool) {
	if c.tools.server == "" || u.Kind != "" && u.Kind != "other" {
		return "", "", false // what runs commands or changes files is none, whatever its title is
	}
	c.agent.mu.Lock()
	s := c.agent.tools
	c.agent.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for server := range s.servers {
		rest, ok := strings.CutPrefix(cmp.Or(u.Name, u.Title), server)
		rest = strings.TrimLeft(rest, "-_/. ")
		if ok && slices.ContainsFunc(c.tools.tools, func(t event.Tool) bool { return t.Alias() == rest }) {
			return server, rest, true
		}
	}
	return "", "", false
}

// announced is a call of a client's tool that the agent has announced. The call itself comes to the server.
type announced struct {
	call         *toolCall
	server, tool string
	permitted    bool // the agent has asked for its permission
	claimed      bool // it has come
}

// announce keeps what the agent says of a call of a client's tool; nil if it is another call, also one that only looked like it at first. The
// caller must hold the lock.
func (c *conversation) announce(u toolUpdate) *announced {
	t := c.turn
	i := slices.IndexFunc(t.announced, func(a *announced) bool { return a.call.ID == u.ID })
	if i < 0 {
		server, tool, ok := c.clientTool(u)
		if !ok {
			return nil
		}
		t.announced = append(t.announced, &announced{call: &toolCall{toolUpdate: u}, server: server, tool: tool})
		return t.announced[len(t.announced)-1]
	}
	a := t.announced[i]
	a.call.merge(u)
	if _, _, ok := c.clientTool(a.call.toolUpdate); !ok && !a.claimed {
		t.announced = slices.Delete(t.announced, i, i+1)
		t.calls = append(t.calls, a.call)
		return nil
	}
	return a
}

// isOpen reports whether the call may still come.
func (a *announced) isOpen() bool {
	return !a.claimed && a.call.Status != "completed" && a.call.Status != "failed"
}

// openAnnouncements returns the announcements of a tool that has not been called yet.
func (c *conversation) openAnnouncements(server, tool string) (list []*announced) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn == nil || c.turn.aborted {
		return nil
	}
	for _, a := range c.turn.announced {
		if a.server == server && a.tool == tool && a.isOpen() {
			list = append(list, a)
		}
	}
	return list
}

// claim takes an announcement; false if another call has taken it.
func (c *conversation) claim(a *announced) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !a.isOpen() {
		return false
	}
	a.claimed = true
	return true
}

// How long, and how often, the conversation of a call is looked for: the announcement takes another way than the call. After
// exactPatience, the only announcement is enough, although it names other arguments.
const (
	exactPatience = time.Second
	claimPatience = 2 * time.Second
	claimInterval = 10 * time.Millisecond
)

// caller returns the conversation that calls a tool of a server: the one that announced it; nil if it is unknown.
func (a *Agent) caller(ctx context.Context, server string, t event.Tool, arguments json.RawMessage) *conversation {
	ctx, cancel := context.WithTimeout(ctx, claimPatience)
	defer cancel()
	for began := time.Now(); ; {
		if c := a.claimant(server, t.Alias(), arguments, time.Since(began) < exactPatience); c != nil {
			return c
		}
		select {
		case <-time.After(claimInterval):
		case <-ctx.Done():
			return a.onlyWorking(server)
		}
	}
}

// claimant claims an announcement with these arguments, or the only one unless it must be exact.
func (a *Agent) claimant(server, tool string, arguments json.RawMessage, exact bool) *conversation {
	type candidate struct {
		*announced

		by *conversation
	}
	var all []candidate
	for _, c := range a.open() {
		for _, one := range c.openAnnouncements(server, tool) {
			all = append(all, candidate{one, c})
		}
	}
	i := slices.IndexFunc(all, func(one candidate) bool { return sameJSON(one.call.RawInput, arguments) })
	if i < 0 && !exact && len(all) == 1 {
		i = 0
	}
	if i < 0 || !all[i].by.claim(all[i].announced) {
		return nil
	}
	return all[i].by
}

// open returns the conversations that are open.
func (a *Agent) open() []*conversation {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Collect(maps.Values(a.conversations))
}

// onlyWorking returns the only conversation with a server that has a prompt, for agents that do not announce calls under the tool's name.
func (a *Agent) onlyWorking(server string) *conversation {
	working := slices.DeleteFunc(a.open(), func(c *conversation) bool { return c.tools.server != server || !c.isWorking() })
	if len(working) != 1 {
		return nil
	}
	return working[0]
}

// sameJSON reports whether two texts are the same JSON value.
func sameJSON(a, b json.RawMessage) bool {
	var first, second any
	return json.Unmarshal(a, &first) == nil && json.Unmarshal(b, &second) == nil && reflect.DeepEqual(first, second)
}

// toolHandler returns the function for a tool of a server. The user is asked first, under the tool's own name.
func (a *Agent) toolHandler(server string, t event.Tool) mcp.ToolHandler {
	return func(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := a.caller(ctx, server, t, r.Params.Arguments)
		if c == nil {
			return failedCall("it is unknown which prompt calls the tool; call it again"), nil
		}
		stop := reportProgress(ctx, r)
		defer stop()
		return c.callTool(ctx, t, r.Params.Arguments), nil
	}
}

// progressInterval is the interval of signs of life for the agent while the user is asked.
const progressInterval = 10 * time.Second

// reportProgress reports progress until stop is called, if the agent wants it: clients of MCP have time limits for calls.
func reportProgress(ctx context.Context, r *mcp.CallToolRequest) (stop func()) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for n := 1.0; ; n++ {
			select {
			case <-time.After(progressInterval):
				_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n}) // the call fails with the connection
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		work.Wait()
	}
}

// callTool asks for the permission, and then the clients for the result.
func (c *conversation) callTool(ctx context.Context, t event.Tool, arguments json.RawMessage) *mcp.CallToolResult {
	id, q := c.beginClientTool(t, arguments)
	if q == nil {
		return failedCall("no prompt is running")
	}
	answer, ok := q.await(ctx)
	if ok && answer.Approved {
		if q = c.askTool(id, t, arguments); q == nil {
			return failedCall("the call was withdrawn")
		}
		answer, ok = q.await(ctx)
	} else {
		answer.Failed = true
	}
	if !ok {
		answer = event.Answer{Failed: true, Reason: "the call was withdrawn"}
	}
	return c.endClientTool(id, q, answer)
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

// endClientTool closes the last question of a call, reports the end of the call and returns the result for the agent.
func (c *conversation) endClientTool(id string, q *openQuestion, a event.Answer) *mcp.CallToolResult {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.questions[q.ID] == q { // the agent has given the call up
		c.closeQuestion(q)
	}
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

// endClientCall removes an open call, and reports whether there was one.
func (t *turn) endClientCall(id string) bool {
	i := slices.Index(t.clientCalls, id)
	if i >= 0 {
		t.clientCalls = slices.Delete(t.clientCalls, i, i+1)
	}
	return i >= 0
}

package acp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/permission"
)

// clientTool returns the server and the tool of a client that a tool call of the agent means, if it means one. Names of tools begin with
// that of their server, which no server of others has. It may be the server of another conversation in the same directory: some agents offer
// servers to all of them.
func (c *conversation) clientTool(u toolUpdate) (server, tool string, ok bool) {
	name, _, is := u.mcpCall()
	if c.tools.server == "" || !is {
		return "", "", false
	}
	c.agent.mu.Lock()
	s := c.agent.tools
	c.agent.mu.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	for server := range s.servers {
		rest, ok := strings.CutPrefix(name, server)
		rest = strings.TrimLeft(rest, "-_/. ")
		if ok && slices.ContainsFunc(c.tools.tools, func(t event.Tool) bool { return t.Alias() == rest }) {
			return server, rest, true
		}
	}
	return "", "", false
}

// mcpCall returns the name of the tool that a call uses if it can be one of an MCP server, with the server's name before it, and its arguments.
// What runs commands or changes files is none, whatever its title is.
func (u toolUpdate) mcpCall() (name string, arguments json.RawMessage, is bool) {
	if tool, server, ok := strings.Cut(strings.TrimSuffix(u.Title, " MCP Server)"), " ("); ok && u.Kind == "other" { // Gemini CLI
		return server + "." + tool, u.RawInput, true
	}
	if u.Kind == "" || u.Kind == "other" {
		return strings.TrimPrefix(cmp.Or(u.Name, u.Title), "mcp__"), u.RawInput, true
	}
	var call struct { // Codex says that they are commands. A command would have another member.
		Server, Tool string
		Arguments    json.RawMessage
	}
	d := json.NewDecoder(bytes.NewReader(u.RawInput))
	d.DisallowUnknownFields()
	if d.Decode(&call) != nil || u.Title != "mcp."+call.Server+"."+call.Tool {
		return "", nil, false
	}
	return call.Server + "." + call.Tool, call.Arguments, true
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
	t := c.activeTurn()
	if t == nil {
		return nil
	}
	for _, a := range t.announced {
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
// exactMatchTime, the only announcement is enough, although it names other arguments.
const (
	exactMatchTime = time.Second
	claimTimeout   = 2 * time.Second
	claimInterval  = 10 * time.Millisecond
)

// caller returns the conversation that calls a tool of a server: the one that announced it; nil if it is unknown.
func (a *Agent) caller(ctx context.Context, server string, t event.Tool, arguments json.RawMessage) *conversation {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	for began := time.Now(); ; {
		if c := a.claimant(server, t.Alias(), arguments, time.Since(began) < exactMatchTime); c != nil {
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
	i := slices.IndexFunc(all, func(one candidate) bool {
		_, announced, _ := one.call.mcpCall()
		return sameJSON(announced, arguments)
	})
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
	active := c.activeTurn()
	if active == nil {
		return "", nil
	}
	c.endText(active)
	c.startCalls(active)
	id = c.nextID()
	active.clientCalls = append(active.clientCalls, id)
	c.emit(event.ToolStarted{ID: id, Name: t.Name, Arguments: arguments})
	permit := event.Question{Kind: event.AskPermission, Call: id, Tool: t.Name, Title: "Use " + t.Name, Detail: string(arguments)}
	permit.SetNeeds(permission.Need{Name: permission.OfTool(t.Name, arguments)})
	return id, c.ask(permit)
}

// askTool asks the clients for the result of a call; nil if the turn has ended.
func (c *conversation) askTool(id string, t event.Tool, arguments json.RawMessage) *openQuestion {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.activeTurn() == nil {
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

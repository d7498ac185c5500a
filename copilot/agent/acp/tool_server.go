package acp

import (
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
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/copilot-portal/portal/copilot/acp"
	"github.com/copilot-portal/portal/copilot/agent/stdio"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
)

// toolServer serves the tools of clients on loopback, for the process of one agent, which has a token for it. Conversations in the same
// directory with the same tools share an MCP server: some agents offer the servers of each conversation to all others there.
type toolServer struct {
	http  *http.Server
	url   string
	token string

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

// startToolServer starts a server, with a goroutine of work.
func startToolServer(work *sync.WaitGroup) (*toolServer, error) {
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
	work.Go(func() { _ = s.http.Serve(listener) }) // it ends with the agent's process
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
	switch {
	case a.tools != nil:
		return a.tools, nil
	case a.stopped:
		return nil, stdio.ErrGone
	}
	s, err := startToolServer(&a.work)
	if err != nil {
		return nil, err
	}
	a.tools = s
	a.work.Go(func() {
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

// listTimeout is how long a prompt waits until the agent has listed the tools: some agents connect to servers after they have opened a
// conversation, and the model would not be offered the tools.
const listTimeout = 8 * time.Second

// await waits until the agent has listed the tools, or does not seem to.
func (t clientTools) await(ctx context.Context) error {
	if t.listed == nil {
		return nil
	}
	select {
	case <-t.listed:
	case <-time.After(listTimeout):
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
		return c.agent.Cannot("use client tools: it has no MCP servers over HTTP")
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
	c.servers = append(c.servers, acp.Server{
		Type: "http", Name: name, URL: s.url + name, Headers: []acp.NamedText{{Name: "Authorization", Value: "Bearer " + s.token}},
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
	o.server.AddReceivingMiddleware(o.signalList)
	for _, t := range tools {
		// Some agents show the title as that of the call.
		o.server.AddTool(&mcp.Tool{Name: t.Alias(), Title: name + "." + t.Alias(), Description: t.Description, InputSchema: objectSchema(t.Schema)}, a.toolHandler(name, t))
	}
	s.servers[name] = o
	return o.listed
}

// signalList closes the channel when the agent has listed the tools.
func (o *offer) signalList(next mcp.MethodHandler) mcp.MethodHandler {
	signal := sync.OnceFunc(func() { close(o.listed) })
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		result, err := next(ctx, method, r)
		if method == "tools/list" {
			signal()
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

package sdk_test

import (
	"bytes"
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/agent/sdk/formserver"
	"github.com/copilot-portal/portal/copilot/event"
)

// tower returns an MCP server whose tool "look" sees a heron.
func tower() *mcp.Server {
	s := mcp.NewServer(&mcp.Implementation{Name: "tower", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "look"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "there is a heron"}}}, nil, nil
	})
	return s
}

// locked serves requests whose header Key is s3cret, and returns the address.
func locked(t *testing.T, h http.Handler) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Key") != "s3cret" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections) // streams would keep it open
	return s.URL
}

// self returns the test program as an MCP server.
func self(t *testing.T, name, mark string) agent.ServerConfig {
	t.Helper()
	path, err := os.Executable()
	require.NoError(t, err)
	return agent.ServerConfig{Name: name, Command: path, Env: map[string]string{formserver.Variable: "1", formserver.Mark: mark, "KEY": "s3cret"}}
}

// allowed sends a prompt, allows what the agent asks and returns the last message.
func (c *talk) allowed(prompt string) string {
	c.t.Helper()
	c.send(prompt)
	for text := ""; ; {
		b, ok := c.next(late)
		require.True(c.t, ok, "missing end: %s", show(c.got()))
		switch b := b.(type) {
		case event.QuestionAsked:
			c.answer(b.Question, event.Answer{Approved: true})
		case event.MessageEnded:
			text = b.Text
		case event.Idle:
			return text
		}
	}
}

func TestConversationHasTheServersOfItsOpening(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	formserver.Configure(t, home, nil)
	o := options(t)
	o.Env = environ(home)
	a := launch(t, sdk.New(o))
	server := tower()
	get := func(*http.Request) *mcp.Server { return server }
	headers := map[string]string{"Key": "s3cret"}
	c := open(t, a, func(o *agent.Opening) {
		o.Servers = []agent.ServerConfig{
			self(t, "my shop", "bread"), self(t, "desk", "wood"),
			{Name: "web", URL: locked(t, mcp.NewStreamableHTTPHandler(get, nil)), Headers: headers},
			{Name: "old", URL: locked(t, mcp.NewSSEHandler(get, nil)), Headers: headers, SSE: true},
		}
	})
	assert.Contains(t, c.allowed("call `my-shop-where`"), "in "+c.opening.Directory+" with bread")
	assert.Contains(t, c.allowed("call `desk-where`"), "with wood", "it replaces the stored server")
	assert.Contains(t, c.allowed("call `web-look`"), "there is a heron")
	assert.Contains(t, c.allowed("call `old-look`"), "there is a heron")
	c.close()
	again := open(t, a, func(o *agent.Opening) { *o = c.opening; o.Resume = true; o.Servers = o.Servers[:1] })
	assert.Contains(t, again.allowed("call `my-shop-where`"), "with bread")
	assert.Contains(t, again.allowed("call `web-look`"), "I was not offered the tool")
	again.close()
	stop(t, a)
	assert.Empty(t, filesWith(t, home, "s3cret"), "the CLI does not save the secrets of servers")
}

// filesWith returns the files below a directory that contain a text.
func filesWith(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	}))
	return found
}

package mcp_test

import (
	"bufio"
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/handlers/mcp"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// lineClient is a client that writes lines itself.
type lineClient struct {
	*testing.T

	in      io.WriteCloser
	answers chan string
	served  chan error
}

// connectLines connects a client, which has to close its input. end is called at the end of that.
func connectLines(t *testing.T, host *copilot.Host, end func()) *lineClient {
	t.Helper()
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	c := &lineClient{t, toServer, make(chan string), make(chan error, 1)}
	api := mcp.New(mcp.Options{Host: host, WorkDir: "/", Version: "1", MaxDepth: 3})
	go func() { c.served <- api.Serve(t.Context(), in, out, end) }()
	go func() {
		for lines := bufio.NewScanner(fromServer); lines.Scan(); {
			c.answers <- lines.Text()
		}
	}()
	c.send(initialize)
	assert.Contains(t, <-c.answers, `"id":1`)
	c.send(initialized)
	return c
}

func (c *lineClient) send(line string) {
	c.Helper()
	_, err := io.WriteString(c.in, line+"\n")
	require.NoError(c, err)
}

func TestInvalidLineDoesNotEndThePortal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agents := fake.New()
		defer agents.Close()
		host := agents.NewHost(copilot.Options{})
		defer host.Close(t.Context())
		var ended atomic.Bool
		c := connectLines(t, host, func() { ended.Store(true) })
		for line, code := range map[string]string{
			`x`:  "-32700",
			`[]`: "-32600",
			`[{"jsonrpc":"2.0","id":2,"method":"ping"}]`: "-32600",
			`{"jsonrpc":"2.0","id":null}`:                "-32600",
		} {
			c.send(line)
			answer := <-c.answers
			assert.Contains(t, answer, `"id":null`, line)
			assert.Contains(t, answer, code, line)
		}
		c.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request"}}`)
		c.send(`{"jsonrpc":"2.0","id":3,"method":"ping"} `)
		assert.JSONEq(t, `{"jsonrpc":"2.0","id":3,"result":{}}`, <-c.answers)
		assert.False(t, ended.Load())
		require.NoError(t, c.in.Close())
		require.NoError(t, <-c.served)
		assert.True(t, ended.Load())
	})
}

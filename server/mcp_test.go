package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// mcpHello is the first message of an MCP client.
const mcpHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// mcpClient is a client with the official SDK.
type mcpClient struct {
	*testing.T
	*sdk.ClientSession

	mu       sync.Mutex
	progress []string
}

// connectMCP connects a client, which disconnects at the end of the test.
func connectMCP(t *testing.T, transport sdk.Transport) *mcpClient {
	t.Helper()
	c := &mcpClient{T: t}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.progress = append(c.progress, r.Params.Message)
		},
	})
	var err error
	c.ClientSession, err = client.Connect(t.Context(), transport, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// mcpProcess returns the command `portal mcp` with a private home.
func mcpProcess(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	command := exec.Command(portaltest.Binary(t), "mcp", "--demo") // the program under test, which ends with its input
	command.Env = append(portaltest.Environ(t.TempDir()), env...)
	command.Dir = t.TempDir()
	command.Stderr = new(bytes.Buffer)
	return command
}

// overHTTP returns the transport to a portal; token is "" for none.
func overHTTP(p *portaltest.Portal, token string) sdk.Transport {
	return &sdk.StreamableClientTransport{
		Endpoint: p.URL + "/mcp", MaxRetries: -1, HTTPClient: &http.Client{Transport: tokenSender(token)},
	}
}

// tokenSender sends a token with each request.
type tokenSender string

func (w tokenSender) RoundTrip(r *http.Request) (*http.Response, error) {
	if w != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+string(w))
	}
	return http.DefaultTransport.RoundTrip(r)
}

// use calls a tool and returns its result. It fails the test if the call fails.
func (c *mcpClient) use(tool string, arguments document) document {
	c.Helper()
	result, failure := c.try(c.Context(), tool, arguments)
	require.Empty(c, failure, tool)
	return result
}

// try calls a tool and returns its result, or the text of its error.
func (c *mcpClient) try(ctx context.Context, tool string, arguments document) (result document, failure string) {
	c.Helper()
	params := &sdk.CallToolParams{Name: tool, Arguments: arguments}
	params.SetProgressToken("token")
	r, err := c.CallTool(ctx, params)
	if err != nil {
		return nil, err.Error()
	}
	text, _ := r.Content[0].(*sdk.TextContent)
	if r.IsError {
		return nil, text.Text
	}
	require.NoError(c, json.Unmarshal([]byte(text.Text), &result), text.Text)
	return result, ""
}

func (c *mcpClient) reported(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.progress, text)
}

// awaitReport waits for a notification of progress, which may arrive after the result.
func (c *mcpClient) awaitReport(text string) {
	c.Helper()
	for clock := testclock.Now(); !c.reported(text); testclock.Settle(10 * time.Millisecond) {
		require.Less(c, clock.Elapsed(), agentStarts, text)
	}
}

// finish waits for a run however long it takes.
func (c *mcpClient) finish(got document) document {
	c.Helper()
	if got["state"] == "working" || got["state"] == "queued" {
		return c.use("wait", document{"sessionId": got["sessionId"], "runId": got["runId"], "waitSeconds": 300})
	}
	return got
}

func (c *mcpClient) read(uri string) string {
	c.Helper()
	r, err := c.ReadResource(c.Context(), &sdk.ReadResourceParams{URI: uri})
	require.NoError(c, err, uri)
	return r.Contents[0].Text
}

func TestMCPClientWorksWithSessions(t *testing.T) {
	t.Parallel()
	for name, transport := range map[string]func(t *testing.T) sdk.Transport{
		"on stdio": func(t *testing.T) sdk.Transport {
			t.Helper()
			return &sdk.CommandTransport{Command: mcpProcess(t)}
		},
		"over HTTP with a token below a base path": func(t *testing.T) sdk.Transport {
			t.Helper()
			p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--token", "secret", "--base-path", "/portal"}})
			p.URL += "/portal"
			return overHTTP(p, "secret")
		},
		"attached": func(t *testing.T) sdk.Transport {
			t.Helper()
			p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--token", "secret", "--base-path", "/portal"}})
			command := exec.Command(portaltest.Binary(t), "mcp", "--attach", p.URL+"/portal/", "--token", "secret")
			command.Env = portaltest.Environ(t.TempDir())
			return &sdk.CommandTransport{Command: command}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, dir := connectMCP(t, transport(t)), t.TempDir()
			id, _ := c.use("start_session", document{"directory": dir})["sessionId"].(string)
			got := c.finish(c.use("prompt", document{"sessionId": id, "prompt": "run `echo hero > made` and say `all done`"}))
			require.Equal(t, "waiting", got["state"], "the agent asks before it runs a command")
			questions, _ := got["questions"].([]any)
			require.Len(t, questions, 1)
			q, _ := questions[0].(document)
			assert.Equal(t, "permission", q["kind"])
			assert.NoFileExists(t, filepath.Join(dir, "made"))
			got = c.finish(c.use("answer", document{"sessionId": id, "questionId": q["questionId"], "approved": true}))
			require.Equal(t, "completed", got["state"])
			assert.Equal(t, "all done", got["answer"])
			assert.FileExists(t, filepath.Join(dir, "made"))
			c.awaitReport("The run has ended: completed.")

			run, _ := got["runId"].(string)
			assert.Equal(t, "all done", c.read("portal://result/"+id+"/"+run))
			assert.Contains(t, c.read("portal://session/"+id), "echo hero")
			assert.Contains(t, c.read("portal://sessions"), id)
			list, _ := c.use("list_sessions", document{})["sessions"].([]any)
			require.Len(t, list, 1)
			c.findsSession("hero", id)
			assert.Equal(t, got["last"], c.use("read_events", document{"sessionId": id, "limit": 1})["last"])
			_, failure := c.try(t.Context(), "prompt", document{"sessionId": "none", "prompt": "hello"})
			assert.Equal(t, "session_not_found: no such session", failure)
		})
	}
}

func TestFailedAttachmentOfMCPExplainsWhy(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--token", "secret", "--base-path", "/p"}})
	free := portaltest.Start(t, portaltest.Options{})
	free.Stop()
	page := httptest.NewServer(http.NotFoundHandler())
	defer page.Close()
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"no portal":       {[]string{"--attach", free.URL}, "portal: nothing listens at " + free.URL + ": start the portal with: portal\n"},
		"no token":        {[]string{"--attach", p.URL + "/p"}, "portal: the portal at " + p.URL + "/p requires its token: give it with --token"},
		"a wrong token":   {[]string{"--attach", p.URL + "/p", "--token", "other"}, "requires its token"},
		"no base path":    {[]string{"--attach", p.URL, "--token", "secret"}, "the portal is served below /p/ (base_path)"},
		"another program": {[]string{"--attach", page.URL}, `is not a portal (it answered "404 Not Found")`},
		"no address":      {[]string{"--attach", "http://"}, "is not the address of a portal"},
	} {
		t.Run(name, func(t *testing.T) {
			const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n"
			code, stdout, stderr := inPipe(t, initialize, append([]string{"mcp"}, tc.args...)...)
			assert.Equal(t, 1, code)
			assert.Empty(t, stdout)
			assert.Contains(t, stderr, tc.want)
			assert.NotContains(t, stderr, "rejected")
			assert.NotContains(t, stderr, "secret")
		})
	}
}

// findsSession searches until the store has the words, which takes a moment.
func (c *mcpClient) findsSession(words, id string) {
	c.Helper()
	clock := testclock.Now()
	for {
		results, _ := c.use("search_sessions", document{"query": words})["results"].([]any)
		if len(results) > 0 {
			first, _ := results[0].(document)
			assert.Equal(c, id, first["sessionId"])
			return
		}
		require.Less(c, clock.Elapsed(), agentStarts)
	}
}

func TestMCPCallsAreCancelledOnStdio(t *testing.T) {
	t.Parallel()
	cancelsCall(connectMCP(t, &sdk.CommandTransport{Command: mcpProcess(t)}))
}

func cancelsOverHTTP(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	cancelsCall(connectMCP(t, overHTTP(p, "")))
}

func cancelsCall(c *mcpClient) {
	c.Helper()
	id := c.use("start_session", document{})["sessionId"]
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	failed := make(chan string)
	go func() {
		_, failure := c.try(ctx, "prompt", document{"sessionId": id, "prompt": "wait 10 min"})
		failed <- failure
	}()
	c.awaitReport("The agent has started.")
	cancel()
	assert.Contains(c, <-failed, "canceled")
	assert.Equal(c, "cancelled", c.use("wait", document{"sessionId": id, "waitSeconds": 120})["state"])
}

func goesOnWithoutMCPClient(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	proxy := p.Proxy()
	c := connectMCP(t, &sdk.StreamableClientTransport{Endpoint: proxy.URL() + "/mcp", MaxRetries: -1})
	id := c.use("start_session", document{})["sessionId"]
	failed := make(chan string)
	go func() {
		_, failure := c.try(c.Context(), "prompt", document{"sessionId": id, "prompt": "wait 10 s and say `still here`"})
		failed <- failure
	}()
	c.awaitReport("The agent has started.")
	proxy.Sever()
	assert.NotEmpty(t, <-failed)
	again := connectMCP(t, overHTTP(p, ""))
	assert.Equal(t, "still here", again.use("wait", document{"sessionId": id, "waitSeconds": 300})["answer"])
}

func runsJobsAndOperations(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	c := connectMCP(t, overHTTP(p, ""))
	got := c.use("start_operation", document{"type": "clarify", "document": "It must be fast.", "waitSeconds": 300})
	assert.Equal(t, "completed", got["status"])
	id, _ := got["operationId"].(string)
	assert.Contains(t, c.read("portal://operation/"+id), "questions")
	assert.Equal(t, got["result"], c.use("read_operation", document{"operationId": id})["result"])
	names, _ := c.use("list_jobs", document{})["jobs"].([]any)
	assert.NotEmpty(t, names)
	job := c.use("run_job", document{"name": "understand", "waitSeconds": 1})
	assert.NotEmpty(t, job["tasks"])
	assert.Contains(t, []any{"Running", "Succeeded", "Failed"}, job["status"])
	job = c.use("watch_job", document{"jobId": job["jobId"], "waitSeconds": 300})
	assert.Contains(t, []any{"Succeeded", "Failed"}, job["status"])
}

func TestMCPIsGuarded(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--token", "secret"}})
	kind := []string{"Content-Type", "application/json", "Accept", "application/json, text/event-stream"}
	for name, c := range map[string]struct {
		header []string
		want   int
	}{
		"the token":        {[]string{"Authorization", "Bearer secret"}, http.StatusOK},
		"no token":         {nil, http.StatusUnauthorized},
		"a wrong token":    {[]string{"Authorization", "Bearer other"}, http.StatusUnauthorized},
		"a foreign origin": {[]string{"Authorization", "Bearer secret", "Origin", "http://evil.example"}, http.StatusForbidden},
		"a foreign host":   {[]string{"Authorization", "Bearer secret", "Host", "evil.example"}, http.StatusForbidden},
	} {
		status, answer := p.Do("POST", "/mcp", mcpHello, slices.Concat(kind, c.header)...)
		assert.Equal(t, c.want, status, "%s: %s", name, answer)
	}
}

func TestStdioMCPPortalAnswersCallsAtTheEndOfItsInput(t *testing.T) {
	t.Parallel()
	command := mcpProcess(t)
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	defer func() { _ = command.Process.Kill() }() // it has ended, unless the test failed
	answers := json.NewDecoder(out)
	ask := func(line string) (answer document) {
		_, err := io.WriteString(in, line+"\n")
		require.NoError(t, err)
		if strings.Contains(line, `"id"`) {
			require.NoError(t, answers.Decode(&answer))
		}
		return answer
	}
	ask(mcpHello)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	started := ask(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"start_session","arguments":{}}}`)
	result, _ := started["result"].(document)
	session, _ := result["structuredContent"].(document)
	require.NotEmpty(t, session["sessionId"], started)
	_, err = fmt.Fprintf(in, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"prompt","arguments":{"sessionId":%q,"prompt":"wait 10 min"}}}`+"\n", session["sessionId"])
	require.NoError(t, err)
	began := testclock.Now()
	require.NoError(t, in.Close())
	var last document
	require.NoError(t, answers.Decode(&last))
	assert.EqualValues(t, 3, last["id"], last)
	require.NoError(t, command.Wait())
	assert.Less(t, began.Elapsed().Seconds(), 5.0)
}

func TestAgentBelowTheDepthLimitStartsNoAgent(t *testing.T) {
	t.Parallel()
	t.Run("on stdio", func(t *testing.T) {
		t.Parallel()
		c := connectMCP(t, &sdk.CommandTransport{Command: mcpProcess(t, "COPILOT_PORTAL_DEPTH=3")})
		_, failure := c.try(t.Context(), "start_session", document{})
		assert.Contains(t, failure, "too_deep: ")
	})
	t.Run("with a real agent over HTTP", func(t *testing.T) {
		t.Parallel()
		p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Env: []string{"PORTAL_LIMITS_DEPTH=1"}})
		useOwnMCP(t, p)
		id := p.StartSession(t.TempDir(), "")
		assert.Contains(t, portaltest.Answer(p.Run(id, "call `portal-start_session` `{}`")), "too_deep: an agent at depth 1")
	})
	t.Run("with a real agent on stdio", func(t *testing.T) {
		t.Parallel()
		home := t.TempDir()
		configureMCP(t, home, document{"type": "local", "command": portaltest.Binary(t), "args": []string{"mcp", "--demo", "--ephemeral"}, "tools": []string{"*"}, "env": document{}})
		p := portaltest.Start(t, portaltest.Options{Home: home, Args: []string{"--demo"}, Env: []string{"PORTAL_LIMITS_DEPTH=1"}})
		id := p.StartSession(t.TempDir(), "")
		assert.Contains(t, portaltest.Answer(p.Run(id, "call `portal-start_session` `{}`")), "too_deep: an agent at depth 1")
	})
	t.Run("but one above it does", func(t *testing.T) {
		t.Parallel()
		p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}})
		useOwnMCP(t, p)
		id := p.StartSession(t.TempDir(), "")
		assert.Contains(t, portaltest.Answer(p.Run(id, "call `portal-start_session` `{}`")), "sessionId")
	})
}

// useOwnMCP makes the agents of a portal use it as an MCP server.
func useOwnMCP(t *testing.T, p *portaltest.Portal) {
	t.Helper()
	configureMCP(t, p.Home, document{"type": "http", "url": p.URL + "/mcp", "tools": []string{"*"}})
}

func configureMCP(t *testing.T, home string, server document) {
	t.Helper()
	config, err := json.Marshal(document{"mcpServers": document{"portal": server}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(home, "mcp-config.json"), config, 0o600))
}

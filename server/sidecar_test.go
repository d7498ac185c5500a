package server_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// ide acts as the plugin: it sends requests and reads streams as the real one does.
type ide struct {
	testing.TB
	*portaltest.Portal
}

type document = map[string]any

// call sends a request and returns its result. An error fails the test.
func (i ide) call(method string, params document) document {
	i.Helper()
	body, err := json.Marshal(document{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(i, err)
	status, answer := i.Do("POST", "/rpc", string(body), "Content-Type", "application/json")
	require.Equal(i, 200, status)
	var d struct{ Result, Error document }
	require.NoError(i, json.Unmarshal([]byte(answer), &d), answer)
	require.Nil(i, d.Error, "%s", method)
	return d.Result
}

func (i ide) create(params document) string {
	i.Helper()
	id, _ := i.call("session.create", params)["sessionId"].(string)
	require.NotEmpty(i, id)
	return id
}

func (i ide) send(id, prompt string) document {
	i.Helper()
	return i.call("session.send", document{"sessionId": id, "prompt": prompt})
}

// streamEvent is an event of a stream.
type streamEvent struct {
	id, name string
	data     document
}

// follow reads a stream until see returns false or it ends.
func (i ide) follow(id, after string, see func(streamEvent) bool) {
	i.Helper()
	req, err := http.NewRequestWithContext(i.Context(), http.MethodGet, i.URL+"/stream/"+id, http.NoBody)
	require.NoError(i, err)
	if after != "" {
		req.Header.Set("Last-Event-ID", after)
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(i, err)
	defer resp.Body.Close()
	require.Equal(i, 200, resp.StatusCode)
	lines, e := bufio.NewScanner(io.TeeReader(resp.Body, contract.NewStream(i))), streamEvent{}
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "id: "):
			e.id = line[4:]
		case strings.HasPrefix(line, "event: "):
			e.name = line[7:]
		case strings.HasPrefix(line, "data: "):
			require.NoError(i, json.Unmarshal([]byte(line[6:]), &e.data), line)
		case line == "" && e.name != "":
			if !see(e) {
				return
			}
			e = streamEvent{}
		}
	}
}

// done collects events up to and including the first done, as the first plugins do.
func (i ide) done(id string) (all []streamEvent) {
	i.Helper()
	i.follow(id, "", func(e streamEvent) bool {
		all = append(all, e)
		return e.name != "done"
	})
	return all
}

// shown returns the text that the plugin shows.
func shown(all []streamEvent) string {
	var out strings.Builder
	for _, e := range all {
		if text, ok := e.data["content"].(string); ok && e.data["type"] == "text" {
			out.WriteString(text)
		}
	}
	return out.String()
}

func TestPluginExecutesToolsOfTheAgent(t *testing.T) {
	t.Parallel()
	repository := t.TempDir()
	git := func(args ...string) string {
		c := exec.Command("git", append([]string{"-C", repository, "-c", "user.name=A", "-c", "user.email=a@example.org"}, args...)...)
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	require.NoError(t, os.WriteFile(filepath.Join(repository, "a.txt"), []byte("a"), 0o600))
	var mu sync.Mutex
	var calls []document
	plugin := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call document
		_ = json.NewDecoder(r.Body).Decode(&call)
		mu.Lock()
		calls = append(calls, call)
		mu.Unlock()
		args, _ := call["args"].(document)
		switch {
		case r.URL.Path != "/tool-callback" || r.Method != http.MethodPost:
			w.WriteHeader(http.StatusNotFound)
		case call["approvalOnly"] == true:
			fmt.Fprint(w, `{"success":true}`)
		case args["description"] == "bad":
			fmt.Fprint(w, `{"success":false,"error":"User denied tool execution","userMessage":"Operation cancelled by user"}`)
		default:
			git("add", "-A")
			message := fmt.Sprintf("%s(%s): %s", args["type"], args["scope"], args["description"])
			git("commit", "-q", "-m", message)
			_ = json.NewEncoder(w).Encode(document{"success": true, "result": document{"commitSha": git("rev-parse", "HEAD"), "message": message}})
		}
	}))
	defer plugin.Close()
	p := ide{t, portaltest.Start(t, portaltest.Options{Args: []string{"--callback", plugin.URL}})}
	status, _ := p.Do("GET", "/health", "")
	require.Equal(t, 200, status)
	models, _ := p.call("models.list", document{})["models"].([]any)
	require.NotEmpty(t, models)

	id := p.create(document{"workingDirectory": repository})
	p.send(id, "call `git_commit` `{\"type\":\"feat\",\"scope\":\"api\",\"description\":\"add a\"}`")
	got := p.done(id)
	assert.Equal(t, "feat(api): add a", git("log", "-1", "--format=%s"))
	assert.Contains(t, shown(got), git("rev-parse", "HEAD"), "the model has read the result")
	approved := false
	for _, e := range got {
		if e.name == "tool.approval" {
			approved = true
			assert.Equal(t, "git.commit", e.data["toolName"])
			assert.Equal(t, calls[0]["callId"], e.data["callId"])
			assert.Equal(t, document{"type": "feat", "scope": "api", "description": "add a"}, e.data["args"])
		}
	}
	assert.True(t, approved)

	p.send(id, "call `git_commit` `{\"type\":\"feat\",\"description\":\"bad\"}`")
	assert.Contains(t, shown(p.done(id)), "Operation cancelled by user")

	p.send(id, "run `echo made by hand`")
	assert.Contains(t, shown(p.done(id)), "made by hand")
	assert.Equal(t, true, calls[len(calls)-1]["approvalOnly"])

	p.call("session.send", document{
		"sessionId": id, "prompt": "call `git_push` `{\"force\":true}`", "permissions": document{"git.push": "deny"},
	})
	p.done(id)
	assert.Len(t, calls, 3, "denied calls are not posted")

	p.call("session.send", document{"sessionId": id, "prompt": "show request", "model": "Demo (scripted, offline)", "context": []document{
		{"file": "src/Main.java", "startLine": 10, "endLine": 12, "content": "int answer;", "symbol": "theMethod"},
	}})
	request := shown(p.done(id))
	for _, part := range []string{"Main.java", "10", "12", "int answer;", "theMethod", "git_status"} {
		assert.Contains(t, request, part)
	}

	plugin.Close()
	p.send(id, "call `git_status` say `and on`")
	got = p.done(id)
	assert.Contains(t, shown(got), "and on", "the run continues without the plugin")
	assert.Contains(t, fmt.Sprint(got), "The tool call-back failed: ")

	var last streamEvent
	p.send(id, "wait 1 h")
	p.follow(id, "", func(e streamEvent) bool {
		if last.name == "" {
			assert.Equal(t, document{"closed": true}, p.call("session.close", document{"sessionId": id}))
		}
		last = e
		return true
	})
	assert.Equal(t, "closed", last.name, "closing ends the stream")
}

func TestStreamsAndRestWatchASessionDuringReconnects(t *testing.T) {
	t.Parallel()
	p := ide{t, portaltest.Start(t, portaltest.Options{})}
	id := p.create(document{"workingDirectory": t.TempDir()})
	seconds := portaltest.Repeat(5, 20)
	p.send(id, fmt.Sprintf("%d tokens in %d s", 250*seconds, seconds))
	var want strings.Builder
	for i := range 250 * seconds {
		fmt.Fprintf(&want, "w%d ", i+1)
	}
	var watchers sync.WaitGroup
	streams := make([][]streamEvent, 2)
	for n := range streams {
		watchers.Go(func() { streams[n] = p.done(id) })
	}
	var rest strings.Builder
	watchers.Go(func() {
		for _, r := range follow(t, p.Portal, id) {
			if r.Name() == "onMessage" {
				rest.WriteString(r.Text("delta"))
			}
		}
	})

	var all []streamEvent
	after, reconnects, began := "", 0, testclock.Now()
	p.follow(id, "", func(e streamEvent) bool { all, after = append(all, e), e.id; return false })
	for ended := false; !ended; reconnects++ {
		deadline := time.Now().Add(time.Duration(rand.IntN(170)) * time.Millisecond)
		p.follow(id, after, func(e streamEvent) bool {
			if all = append(all, e); e.id != "" {
				after = e.id
			}
			ended = e.name == "done"
			return !ended && time.Now().Before(deadline)
		})
	}
	ran := min(began.Elapsed().Seconds(), float64(seconds)) // fewer on a busy machine
	watchers.Wait()
	t.Logf("%d reconnects", reconnects)
	assert.Greater(t, float64(reconnects), 7*ran)
	text := strings.TrimSpace(want.String())
	assert.Contains(t, shown(all), text)
	assert.Equal(t, shown(streams[0]), shown(all))
	assert.Equal(t, shown(streams[0]), shown(streams[1]))
	assert.Equal(t, shown(streams[0]), rest.String())
	seen := map[string]bool{}
	for _, e := range all {
		assert.False(t, e.id != "" && seen[e.id], "%v arrived twice", e)
		seen[e.id] = true
	}
}

// startUnread starts a portal whose output nobody reads after the port line.
func startUnread(t *testing.T, args ...string) (c *exec.Cmd, url string) {
	t.Helper()
	c = exec.Command(portaltest.Binary(t), append([]string{"--port", "0", "--debug"}, args...)...)
	c.Env = portaltest.Environ(t.TempDir())
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	_, err = c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { _ = c.Process.Kill(); _ = c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return c, "http://localhost:" + strings.TrimPrefix(strings.TrimSpace(line), "SIDECAR_PORT=")
}

// ends waits until a process has ended by itself.
func ends(t *testing.T, c *exec.Cmd, limit time.Duration) {
	t.Helper()
	ended := make(chan struct{})
	var err error
	go func() { defer close(ended); err = c.Wait() }()
	require.True(t, testclock.Now().Wait(ended, limit), "it did not end within %v", limit)
	require.NoError(t, err)
}

func TestUnreadOutputDoesNotStallThousandsOfCalls(t *testing.T) {
	t.Parallel()
	c, url := startUnread(t)
	client, begin := &http.Client{Timeout: soon}, time.Now()
	calls := portaltest.Repeat(2500, 10_000)
	for range calls {
		resp, err := client.Post(url+"/rpc", "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"session.list"}`))
		require.NoError(t, err)
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	t.Logf("%d calls in %v", calls, time.Since(begin))
	require.NoError(t, c.Process.Signal(syscall.SIGTERM))
	ends(t, c, 5*time.Second)
}

func TestOpenStreamsAndWebSocketsDoNotDelayShutdown(t *testing.T) {
	p := ide{t, portaltest.Start(t, portaltest.Options{})}
	id := p.create(document{"workingDirectory": t.TempDir()})
	p.send(id, "say `now` and wait 1 h")
	var open, ended sync.WaitGroup
	for range 50 {
		open.Add(1)
		ended.Go(func() {
			first := sync.OnceFunc(open.Done)
			defer first()
			p.follow(id, "", func(e streamEvent) bool {
				if e.data["role"] == "assistant" { // the agent is working
					first()
				}
				return true
			})
		})
	}
	open.Wait()
	opensWebSockets(t, p.Portal, 20)
	begin := testclock.Now()
	p.Stop()
	ended.Wait()
	t.Logf("stopped in %v", begin.Elapsed())
	assert.Less(t, begin.Elapsed(), 2*time.Second)
}

func TestPortalEndsWithItsParent(t *testing.T) {
	t.Parallel()
	t.Run("by its process", func(t *testing.T) {
		parent := exec.Command("sleep", "60")
		require.NoError(t, parent.Start())
		c, _ := startUnread(t, "--parent-pid", strconv.Itoa(parent.Process.Pid))
		require.NoError(t, parent.Process.Kill())
		_ = parent.Wait()
		ends(t, c, 5*time.Second)
	})
	t.Run("by its standard input", func(t *testing.T) {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		c := exec.Command(portaltest.Binary(t), "--port", "0", "--exit-on-eof")
		c.Env, c.Stdin = portaltest.Environ(t.TempDir()), r
		require.NoError(t, c.Start())
		t.Cleanup(func() { _ = c.Process.Kill() })
		require.NoError(t, r.Close())
		require.NoError(t, w.Close())
		ends(t, c, 5*time.Second)
	})
}

func TestSidecarAndPortalShareADataDirectory(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	port := fmt.Sprint(20_000 + rand.IntN(10_000)) // the system gives none of these to other programs
	portals := []ide{
		{t, portaltest.Start(t, portaltest.Options{Home: home})},
		{t, portaltest.Start(t, portaltest.Options{Home: home, Args: []string{"--port", port}})},
	}
	ids := make([]string, len(portals))
	var work sync.WaitGroup
	for n, p := range portals {
		ids[n] = p.create(document{"workingDirectory": home})
	}
	for n, p := range portals {
		work.Go(func() {
			p.send(ids[n], fmt.Sprintf("say `I am number %d`", n))
			assert.Equal(t, fmt.Sprintf("I am number %d", n), shown(p.done(ids[n])))
		})
	}
	work.Wait()
	for _, p := range portals {
		list := fmt.Sprint(p.call("session.list", document{}))
		for _, id := range ids {
			assert.Contains(t, list, id)
		}
	}
	var seen strings.Builder // of a session that another portal holds
	portals[1].follow(ids[0], "0-0", func(e streamEvent) bool {
		if text, ok := e.data["content"].(string); ok {
			seen.WriteString(text)
		}
		return e.name != "done"
	})
	assert.Contains(t, seen.String(), "I am number 0")
}

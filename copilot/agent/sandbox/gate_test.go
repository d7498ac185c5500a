package sandbox_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/agent/sandbox"
)

// TestMain makes the test binary the helper in a sandbox.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.Helper {
		fmt.Fprintln(os.Stderr, sandbox.Run(os.Args[2:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func open(t *testing.T, env []string, hosts ...string) *sandbox.Gate {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	g, err := sandbox.OpenGate(hosts, env, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	t.Cleanup(g.Close)
	return g
}

// through returns a client that uses the proxy of the gate.
func through(t *testing.T) *http.Client {
	t.Helper()
	sockets, err := filepath.Glob(filepath.Join(os.TempDir(), sandbox.GateDirectory+"*", "proxy"))
	require.NoError(t, err)
	require.Len(t, sockets, 1)
	var dialer net.Dialer
	transport := &http.Transport{
		Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "gate"}),
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", sockets[0])
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get gets a page and returns its text, or the error.
func get(t *testing.T, c *http.Client, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	answer, err := c.Do(r)
	if err != nil {
		return err.Error()
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return string(text)
}

func TestGateAllowsOnlyAllowedHosts(t *testing.T) {
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	for name, start := range map[string]func(http.Handler) *httptest.Server{"http": httptest.NewServer, "https": httptest.NewTLSServer} {
		t.Run(name, func(t *testing.T) {
			allowed, other := start(hello), start(hello)
			defer allowed.Close()
			defer other.Close()
			host, err := sandbox.HostOf(allowed.URL)
			require.NoError(t, err)
			open(t, nil, host)
			client := through(t)
			if trusted, ok := allowed.Client().Transport.(*http.Transport); ok {
				client.Transport.(*http.Transport).TLSClientConfig = trusted.TLSClientConfig
			}
			assert.Equal(t, "hello", get(t, client, allowed.URL))
			assert.Regexp(t, "does not allow connections|Forbidden", get(t, client, other.URL))
			assert.Regexp(t, "does not allow connections|Forbidden", get(t, client, strings.Replace(allowed.URL, "127.0.0.1", "127.0.0.2", 1)))
		})
	}
}

// Whoever connects to the sockets uses the network as the agent may, or takes the place of the agent.
func TestSocketsOfAGateArePrivate(t *testing.T) {
	open(t, nil)
	for _, name := range []string{"proxy", "agent"} {
		sockets, err := filepath.Glob(filepath.Join(os.TempDir(), sandbox.GateDirectory+"*", name))
		require.NoError(t, err)
		require.Len(t, sockets, 1)
		info, err := os.Stat(filepath.Dir(sockets[0]))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o700), info.Mode().Perm(), "no other user reaches what is in it")
	}
}

func TestGateComparesWholeHosts(t *testing.T) {
	g := open(t, nil, "api.github.com:443", "*.githubcopilot.com:443", "127.0.0.1:1234")
	for address, want := range map[string]bool{
		"api.github.com:443": true, "API.GitHub.com:443": true, "api.github.com.:443": true, "api.business.githubcopilot.com:443": true, "127.0.0.1:1234": true,
		"api.github.com:80": false, "api.github.com:22": false, "github.com:443": false, "xapi.github.com:443": false, "api.github.com.evil.org:443": false,
		"githubcopilot.com:443": false, ".githubcopilot.com:443": false, "evilgithubcopilot.com:443": false, "api.githubcopilot.com:8443": false,
		"127.0.0.1:1235": false, "127.0.0.1": false, "[::ffff:127.0.0.1]:1234": false, "2130706433:1234": false, "": false, ":443": false,
		"a@api.githubcopilot.com:443": false, "evil.org/.githubcopilot.com:443": false, "evil.org#.githubcopilot.com:443": false,
	} {
		assert.Equal(t, want, sandbox.Allows(g, address), address)
	}
}

func TestGateUsesTheProxyOfTheHost(t *testing.T) {
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		w.WriteHeader(http.StatusTeapot)
	}))
	defer proxy.Close()
	with := strings.Replace(proxy.URL, "http://", "http://user:word@", 1)
	open(t, []string{"https_proxy=" + with}, "models.test:443")
	assert.Contains(t, get(t, through(t), "https://models.test/"), "Bad Gateway")
	assert.Equal(t, []string{"CONNECT models.test:443 Basic dXNlcjp3b3Jk"}, asked)
}

func TestGateRejectsOtherThanProxyRequests(t *testing.T) {
	open(t, nil, "127.0.0.1:80")
	sockets, err := filepath.Glob(filepath.Join(os.TempDir(), sandbox.GateDirectory+"*", "proxy"))
	require.NoError(t, err)
	for _, request := range []string{"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", "GET ftp://127.0.0.1/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"} {
		conn, err := net.Dial("unix", sockets[0])
		require.NoError(t, err)
		_, err = io.WriteString(conn, request)
		require.NoError(t, err)
		answer, err := http.ReadResponse(bufio.NewReader(conn), nil) //nolint:bodyclose // the connection is closed
		require.NoError(t, err)
		assert.Equal(t, http.StatusBadRequest, answer.StatusCode, request)
		require.NoError(t, conn.Close())
	}
}

func TestClosedGateLeavesNothing(t *testing.T) {
	idle, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer idle.Close()
	g := open(t, nil, idle.Addr().String())
	sockets, err := filepath.Glob(filepath.Join(os.TempDir(), sandbox.GateDirectory+"*", "proxy"))
	require.NoError(t, err)
	conn, err := net.Dial("unix", sockets[0])
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "CONNECT "+idle.Addr().String()+" HTTP/1.1\r\nHost: x\r\n\r\n")
	require.NoError(t, err)
	server, err := idle.Accept()
	require.NoError(t, err)
	defer server.Close()
	g.Close()
	_, err = io.ReadAll(server)
	require.NoError(t, err, "the gate is closed")
	assert.NoFileExists(t, sockets[0])
	g.Close()
}

func TestSandboxReachesOnlyItsGate(t *testing.T) {
	require.NoError(t, sandbox.Probe(t.Context(), sandbox.Model), "make deps installs bubblewrap")
	hello := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	allowed, other := httptest.NewServer(hello), httptest.NewServer(hello)
	defer allowed.Close()
	defer other.Close()
	home, project := place(t)
	host, err := sandbox.HostOf(allowed.URL)
	require.NoError(t, err)
	b := sandbox.Sandbox{Directory: project, Home: home, Network: sandbox.Model, Gate: open(t, nil, host)}
	script := func(address string) []string {
		return []string{"/bin/bash", "-c", `exec 3<>/dev/tcp/` + strings.Replace(strings.TrimPrefix(address, "http://"), ":", "/", 1) +
			` && printf 'GET / HTTP/1.0\r\nHost: x\r\n\r\n' >&3 && tail -n 1 <&3`}
	}
	for address, want := range map[string]string{allowed.URL: "hello", other.URL: "Connection refused"} {
		line, err := b.Command(script(address)...)
		require.NoError(t, err)
		out, _ := exec.Command(line[0], line[1:]...).CombinedOutput()
		assert.Contains(t, string(out), want, address)
	}
	b.Gate = nil
	_, err = b.Command("true")
	assert.ErrorContains(t, err, "requires a gate")
}

func TestSandboxWithoutNamespacesForNetworksIsExplained(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir)
	script := "#!/bin/sh\ncase \"$*\" in *--unshare-net*) echo 'bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted' >&2; exit 1;; esac\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "bwrap"), []byte(script), 0o700))
	require.NoError(t, sandbox.Probe(t.Context(), sandbox.Shared))
	err := sandbox.Probe(t.Context(), sandbox.Model)
	require.ErrorContains(t, err, "RTM_NEWADDR")
	assert.ErrorContains(t, err, "set sandbox_network: shared")
}

func TestHelperRefusesOtherUses(t *testing.T) {
	for _, args := range [][]string{nil, {"enter"}, {"enter", "/"}, {"enter", "/", ""}, {"other", "/", "x"}} {
		assert.ErrorContains(t, sandbox.Run(args), "is for the portal itself", args)
	}
}

// counted counts what is read.
type counted struct {
	io.Reader

	read atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.read.Add(int64(n))
	return n, err
}

func TestClosedGateEndsStalledUploads(t *testing.T) {
	upstream, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer upstream.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		conn, err := upstream.Accept() // and never reads
		if err == nil {
			accepted <- conn
		}
	}()
	g := open(t, nil, upstream.Addr().String())
	client, sent, body := through(t), make(chan error, 1), &counted{Reader: strings.NewReader(strings.Repeat("x", 64<<20))}
	go func() {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+upstream.Addr().String(), body)
		if err == nil {
			var answer *http.Response
			if answer, err = client.Do(r); err == nil {
				err = answer.Body.Close()
			}
		}
		sent <- err
	}()
	conn := <-accepted
	defer conn.Close()
	before := int64(-1)
	require.Eventually(t, func() bool {
		last := before
		before = body.read.Load()
		return before > 0 && before == last
	}, time.Minute, 300*time.Millisecond, "the upload does not stall")
	closed := make(chan struct{})
	go func() { g.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(time.Minute):
		_ = conn.Close() // so that cleaning up ends
		require.Fail(t, "Close waits for the upload")
	}
	<-sent
}

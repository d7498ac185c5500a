package server_test

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
)

// soon is the time limit for what takes milliseconds on an idle machine; tick is the polling interval.
const (
	soon = time.Minute
	tick = 50 * time.Millisecond
)

// flags returns the parsed flags of the portal's command.
func flags(tb testing.TB, args ...string) *pflag.FlagSet {
	tb.Helper()
	f := pflag.NewFlagSet("portal", pflag.ContinueOnError)
	f.Int("port", 8888, "")
	for _, name := range []string{"host", "base-path", "token", "config", "data-dir", "copilot-path", "agent-command", "agents", "sandbox-network"} {
		f.String(name, "", "")
	}
	f.Bool("demo", false, "")
	f.Bool("debug", false, "")
	f.Bool("sandbox", false, "")
	f.Bool("ephemeral", false, "")
	f.String("jobs", "", "")
	require.NoError(tb, f.Parse(args))
	return f
}

// noAgent is the path of a missing Copilot CLI.
const noAgent = "/nowhere/copilot"

// inside creates a portal in this process that cannot start an agent.
func inside(tb testing.TB, change func(*server.Config)) *server.Server {
	tb.Helper()
	c, err := server.Load(server.Sources{Flags: flags(tb, "--port", "0"), Environ: []string{"HOME=" + tb.TempDir()}})
	require.NoError(tb, err)
	c.CopilotPath, c.Ephemeral = noAgent, true
	if change != nil {
		change(&c)
	}
	return server.New(tb.Context(), c, "test", slog.New(slog.DiscardHandler))
}

// serve runs a portal in this process until the end of the test and returns its address.
func serve(tb testing.TB, s *server.Server) string {
	tb.Helper()
	require.NoError(tb, s.Listen(tb.Context()))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	tb.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			require.NoError(tb, err)
		case <-time.After(soon):
			tb.Error("the portal did not stop")
		}
	})
	_, port, err := net.SplitHostPort(strings.Trim(strings.SplitN(s.URL(), "/", 4)[2], "/"))
	require.NoError(tb, err)
	return "127.0.0.1:" + port
}

// ask sends a request to a handler. header contains names and values in turn; Host and RemoteAddr set those of the request.
func ask(h http.Handler, method, target string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "http://localhost:8888/", http.NoBody)
	r.URL.Path, r.URL.RawQuery, _ = strings.Cut(target, "?")
	r.RequestURI = target
	for i := 0; i+1 < len(header); i += 2 {
		switch header[i] {
		case "Host":
			r.Host = header[i+1]
		case "RemoteAddr":
			r.RemoteAddr = header[i+1]
		default:
			r.Header.Add(header[i], header[i+1])
		}
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// reply is a raw response.
type reply struct {
	status int
	major  int // version of HTTP
	header http.Header
	body   string
}

// send writes bytes to a port and reads one response.
func send(tb testing.TB, address, request string) reply {
	tb.Helper()
	var d net.Dialer
	conn, err := d.DialContext(tb.Context(), "tcp", address)
	require.NoError(tb, err)
	defer conn.Close()
	require.NoError(tb, conn.SetDeadline(time.Now().Add(soon)))
	_, err = io.WriteString(conn, request)
	require.NoError(tb, err)
	method, _, _ := strings.Cut(request, " ")
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	require.NoError(tb, err)
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	require.NoError(tb, err)
	return reply{resp.StatusCode, resp.ProtoMajor, resp.Header, string(b)}
}

package server_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorilla/websocket"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/contract"
)

// shell is a client of a terminal.
type shell struct {
	*contract.Socket

	t    *testing.T
	seen string // output that was not looked for yet
}

// openShell opens a terminal of a session.
func openShell(t *testing.T, p *portaltest.Portal, session string, header ...string) *shell {
	t.Helper()
	head := http.Header{}
	for i := 0; i+1 < len(header); i += 2 {
		head.Add(header[i], header[i+1])
	}
	conn, resp, err := websocket.DefaultDialer.DialContext(t.Context(), "ws"+strings.TrimPrefix(p.URL, "http")+"/terminal/"+session+"?columns=100&rows=30", head)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(2*time.Minute)))
	return &shell{Socket: contract.NewSocket(t, conn, "/terminal/"+session), t: t}
}

func (s *shell) say(message string) {
	s.t.Helper()
	require.NoError(s.t, s.WriteMessage(websocket.TextMessage, []byte(message)))
}

func (s *shell) enter(line string) { s.t.Helper(); s.say(fmt.Sprintf(`{"input":%q}`, line+"\n")) }

// await shows output until it contains a text.
func (s *shell) await(text string) {
	s.t.Helper()
	for !strings.Contains(s.seen, text) {
		_, frame, err := s.ReadMessage()
		require.NoError(s.t, err, s.seen)
		s.seen += string(frame[1:])
		s.seen = s.seen[max(0, len(s.seen)-(64<<10)):]
		if frame[0] == 'o' {
			s.say(`{"shown":1}`)
		}
	}
	_, s.seen, _ = strings.Cut(s.seen, text)
}

// pid returns the process id that a command writes to a file.
func (s *shell) pid(path string) (pid int) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		text, _ := os.ReadFile(path)
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return pid > 0
	}, time.Minute, 20*time.Millisecond)
	return pid
}

func waitEnded(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return syscall.Kill(pid, 0) != nil }, time.Minute, 20*time.Millisecond, "process %d still runs", pid)
}

func TestTerminalIsAShellInTheDirectory(t *testing.T) {
	t.Parallel()
	config := "terminal: true\nproviders: [{name: x, type: openai, base_url: 'http://localhost:9/v1', api_key_env: X_KEY, models: [m]}]\n"
	p := portaltest.Start(t, portaltest.Options{
		Config: config, Args: []string{"--demo"}, Env: []string{"SHELL=/bin/sh", "X_KEY=hidden-key", "PORTAL_TITLES=prompt", "KEPT=kept"},
	})
	dir := t.TempDir()
	s := openShell(t, p, p.StartSession(dir, "permissions=allow"))
	s.enter("env > env.txt; echo end-$((1+1))")
	s.await("end-2")
	env, err := os.ReadFile(filepath.Join(dir, "env.txt"))
	require.NoError(t, err)
	assert.Contains(t, string(env), "KEPT=kept")
	assert.Contains(t, string(env), "TERM=xterm-256color")
	assert.NotContains(t, string(env), "hidden-key")
	assert.NotContains(t, string(env), "PORTAL_TITLES")
	s.enter("printf '\\303\\244\\377\\n'")
	s.await("ä\ufffd")
	s.say("{")
	for err == nil {
		_, _, err = s.ReadMessage()
	}
	assert.True(t, websocket.IsCloseError(err, 1003), "%v", err)

	for _, header := range [][]string{{"Origin", "http://evil.example"}, {"Sec-Fetch-Site", "cross-site"}, {"Host", "evil.example"}} {
		status, _ := p.Do("GET", "/terminal/x", "", header...)
		assert.Equal(t, http.StatusForbidden, status, "%v", header)
	}
}

func TestTerminalsEndWithTheirClientsSessionAndPortal(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--terminal"}, Env: []string{"SHELL=/bin/sh"}})
	dir := t.TempDir()
	session, other := p.StartSession(dir, "permissions=allow"), p.StartSession(dir, "permissions=allow")
	begin := func(session, name string) (s *shell, pids []int) {
		s = openShell(t, p, session)
		s.enter("nohup sleep 600 >/dev/null 2>&1 & echo $! > " + name + "; echo $$ > shell-" + name)
		return s, []int{s.pid(filepath.Join(dir, name)), s.pid(filepath.Join(dir, "shell-"+name))}
	}
	left, pidsOfLeft := begin(session, "left")
	cut, pidsOfCut := begin(session, "cut")
	_, pidsOfDeleted := begin(other, "deleted")
	_, pidsOfStopped := begin(session, "stopped")

	require.NoError(t, left.WriteMessage(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")))
	require.NoError(t, cut.NetConn().Close())
	for _, pid := range append(pidsOfLeft, pidsOfCut...) {
		waitEnded(t, pid)
	}
	status, _ := p.Do("DELETE", "/api/copilot/session/"+other+"", "")
	require.Less(t, status, 300)
	for _, pid := range pidsOfDeleted {
		waitEnded(t, pid)
	}
	for _, pid := range pidsOfStopped {
		require.NoError(t, syscall.Kill(pid, 0), "other terminals stay open")
	}
	p.Stop()
	for _, pid := range pidsOfStopped {
		waitEnded(t, pid)
	}
}

func TestTerminalKeepsUpWithItsClient(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--terminal"}, Env: []string{"SHELL=/bin/sh"}})
	dir := t.TempDir()
	session := p.StartSession(dir, "permissions=allow")
	s := openShell(t, p, session)
	s.enter("echo here:$(pwd -P) $COLUMNS; stty size")
	s.await("30 100")
	s.say(`{"columns":132,"rows":43}`)
	s.enter("stty size")
	s.await("43 132")
	s.enter("env | sort; echo env-$((1+1))")
	s.await("env-2")

	s.enter("yes 0123456789012345678901234567890123456789 | head -c 50000000 > counted; yes | head -c 50000000; echo all-$((1+1))")
	frames := 0
	require.NoError(t, s.SetReadDeadline(time.Now().Add(3*time.Second)))
	for ; ; frames++ {
		if _, _, err := s.ReadMessage(); err != nil { // the portal waits
			break
		}
	}
	assert.LessOrEqual(t, frames, 17, "frames without a confirmation")

	again := openShell(t, p, session)
	again.enter("yes | head -c 2000000; echo all-$((1+1))")
	again.await("all-2")
	again.enter("exit 3")
	again.await("The shell has ended (exit status 3).")
	_, _, err := again.ReadMessage()
	assert.True(t, websocket.IsCloseError(err, websocket.CloseNormalClosure), "%v", err)
}

func TestTerminalIsRefused(t *testing.T) {
	t.Parallel()
	connect := func(host, token string, on bool) (int, string) {
		s := inside(t, func(c *server.Config) { c.Host, c.Token, c.Terminal = host, token, on })
		w := ask(s.Handler(8888), "GET", "/terminal/x")
		return w.Code, w.Body.String()
	}
	status, text := connect("localhost", "", false)
	assert.Equal(t, http.StatusNotFound, status)
	assert.Contains(t, text, "the terminal is off")
	for _, host := range []string{"0.0.0.0", "", "192.0.2.1", "::", "portal.example"} {
		status, text = connect(host, "", true)
		assert.Equal(t, http.StatusForbidden, status, host)
		assert.Contains(t, text, "beyond this machine without a token", host)
	}
	status, _ = connect("localhost", "", true)
	assert.Equal(t, http.StatusNotFound, status, "there is no such session")
	status, _ = connect("0.0.0.0", "secret", true)
	assert.Equal(t, http.StatusUnauthorized, status)
}

func TestTerminalBehindAProxyGetsAToken(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--terminal"}, Env: []string{"PORTAL_ALLOWED_HOSTS=portal.example"}})
	status, _ := p.Do("GET", "/terminal/x", "")
	assert.Equal(t, http.StatusUnauthorized, status)
}

func TestTerminalBeyondLoopbackNeedsTheToken(t *testing.T) {
	t.Parallel()
	p := portaltest.Start(t, portaltest.Options{Args: []string{"--demo", "--terminal", "--host", "127.0.0.1", "--token", "secret"}})
	status, _ := p.Do("GET", "/terminal/x", "")
	assert.Equal(t, http.StatusUnauthorized, status)
	status, _ = p.Do("GET", "/terminal/x", "", "Authorization", "Bearer secret")
	assert.Equal(t, http.StatusNotFound, status)
}

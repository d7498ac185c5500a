package soak_test

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
)

// settings keep operations until they are compared, and end the CLI after its last session.
const settings = "operations: {retention: 12h}\npool: {linger: 1s, warm: never}\n"

// host restarts one portal on the same address and data.
type host struct {
	t     *testing.T
	url   string
	calls string // the same portal without lost connections, for requests with one response; "": url
	home  string
	temp  string // its directory of temporary files
	port  int

	client    *http.Client
	portal    *portaltest.Portal // used by the test's goroutine alone
	isCluster bool
	kills     []testclock.Clock // of the portal
	outages   []outage          // of portals of a cluster
	killed    int               // processes of the Copilot CLI
	restarts  int
}

func startHost(t *testing.T) *host {
	t.Helper()
	h := &host{t: t, home: t.TempDir(), temp: t.TempDir(), port: freePort(t), client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 50}}}
	h.url = fmt.Sprintf("http://localhost:%d", h.port)
	h.start()
	return h
}

// freePort returns a port that the system does not give to outgoing connections: a client that connects to such a
// port while nobody listens may reach itself.
func freePort(t *testing.T) int {
	t.Helper()
	for port := 20_000 + os.Getpid()%10_000; port < 32_000; port++ {
		if l, err := net.Listen("tcp", fmt.Sprintf("localhost:%d", port)); err == nil {
			require.NoError(t, l.Close())
			return port
		}
	}
	require.Fail(t, "no port is free")
	return 0
}

func (h *host) start() {
	h.portal = portaltest.Start(h.t, portaltest.Options{
		Home: h.home, Config: settings, Args: []string{"--debug=false", "--port", fmt.Sprint(h.port)}, Env: []string{"TMPDIR=" + h.temp},
	})
}

// killCLI kills a process of the Copilot CLI.
func (h *host) killCLI() {
	if agents := h.portal.Agents(); len(agents) > 0 && syscall.Kill(agents[0].PID, syscall.SIGKILL) == nil {
		h.killed++
	}
}

// restart restarts the portal, in turn with SIGKILL and through its API.
func (h *host) restart() {
	h.restarts++
	if h.restarts%2 == 1 {
		h.kills = append(h.kills, testclock.Now())
		h.portal.Kill()
	} else {
		h.portal.Do("POST", "/api/stop", "")
		h.portal.WaitExit(5 * time.Second)
	}
	h.start()
}

// stop stops the portal and returns what it leaves behind, also of deleted sessions. The Copilot CLI itself leaves an empty
// lock file of each.
func (h *host) stop(deleted []string) (left []string) {
	h.portal.Do("POST", "/api/stop", "")
	h.portal.WaitExit(5 * time.Second)
	for _, c := range h.portal.Children() {
		left = append(left, "process "+c.Command)
	}
	for _, f := range files(h.temp) {
		left = append(left, "temporary file "+f)
	}
	for _, f := range files(h.home) {
		if !strings.Contains(f, "/.session-operation-locks/") && slices.ContainsFunc(deleted, func(id string) bool { return strings.Contains(f, id) }) {
			left = append(left, "of a deleted session: "+f)
		}
	}
	for _, f := range files(h.portal.DataDir()) {
		if isTransient(f) {
			left = append(left, f)
		}
	}
	return left
}

// isTransient reports whether a file of the data directory must not outlive the portal. Lock files stay, unlocked.
func isTransient(file string) bool {
	name := filepath.Base(file)
	return slices.Contains([]string{".db-wal", ".db-shm", ".tmp"}, filepath.Ext(name)) || len(name) > 4 && name[:4] == "new-"
}

// files returns the names of all files in a directory, without the cache of compiled code that the Copilot CLI shares with
// other programs on Node.js.
func files(dir string) (list []string) {
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error { // files come and go meanwhile
		if err == nil && !entry.IsDir() && !strings.Contains(path, "/node-compile-cache/") {
			list = append(list, path)
		}
		return nil
	})
	return list
}

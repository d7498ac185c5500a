package server_test

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/jobs"
	"github.com/copilot-portal/portal/server"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// clusterEnv returns the settings of a node of a cluster.
func clusterEnv(name string, urls []string) []string {
	return []string{"PORTAL_CLUSTER_NATS=" + strings.Join(urls, ","), "PORTAL_CLUSTER_NAME=" + name, "PORTAL_CLUSTER_LEASE=30s"}
}

// clusterState returns the state of the cluster in GET /health.
func clusterState(p *portaltest.Portal) any {
	_, text := p.Do("GET", "/health", "")
	var h struct{ Cluster map[string]any }
	_ = json.Unmarshal([]byte(text), &h)
	return h.Cluster["state"]
}

func TestClusterIsOperated(t *testing.T) {
	t.Parallel()
	n := portaltest.NATS(t, clustertest.Options{})
	network := portaltest.Balance(t, n.Addresses()...)
	one := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Env: clusterEnv("one", n.URLs())})
	two := portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Env: clusterEnv("two", []string{"nats://" + network.Address()})})
	awaitCluster(t, one, two)
	id := two.StartSession(t.TempDir(), "")
	two.Run(id, "say `hello`")
	env := clusterEnv("one", n.URLs())

	// Both are listed, with or without a portal.
	status := func() (s server.ClusterStatus) {
		if code, out, _ := command(t, env, "cluster", "status", "--json"); code == 0 {
			_ = json.Unmarshal([]byte(out), &s)
		}
		return s
	}
	var s server.ClusterStatus
	require.Eventually(t, func() bool {
		s = status()
		return len(s.Nodes) == 2 && s.Nodes[1].Sessions == 1 && s.Nodes[1].Behind == 0 && s.Newest > 0
	}, time.Minute, time.Second)
	assert.Equal(t, "one", s.Nodes[0].Node)
	assert.Equal(t, two.PID, s.Nodes[1].PID)
	assert.Equal(t, "ok", s.Nodes[1].State)
	_, text := one.Do("GET", "/api/cluster", "")
	var seen server.ClusterStatus
	require.NoError(t, json.Unmarshal([]byte(text), &seen))
	assert.Len(t, seen.Nodes, 2)
	_, table, _ := command(t, env, "cluster", "status")
	assert.Contains(t, table, "NODE  STATE  SESSIONS")

	// A drained node gives its session to the other, and starts none.
	code, _, stderr := command(t, env, "cluster", "drain", "two", "--limit", "1m")
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, stderr, "The portal is drained")
	other := two.StartSession(t.TempDir(), "")
	two.Run(other, "say `elsewhere`")
	assert.Equal(t, 1, sessionsOf(t, one))
	two.Run(id, "say `moved`")
	assert.Equal(t, 2, sessionsOf(t, one))
	assert.Zero(t, sessionsOf(t, two))
	code, _, stderr = command(t, env, "cluster", "drain", "two", "--undo")
	require.Equal(t, 0, code, stderr)
	require.Eventually(t, func() bool { s := status(); return len(s.Nodes) == 2 && s.Nodes[1].State == "ok" }, time.Minute, time.Second)
	drain := func(method string) { // with 503, the nodes have lost each other for a moment, as on a busy machine
		require.Eventually(t, func() bool {
			code, text = one.Do(method, "/api/cluster/nodes/two/drain", "")
			return code != http.StatusServiceUnavailable
		}, time.Minute, time.Second/2)
	}
	drain("POST")
	assert.Equal(t, 200, code, text)
	drain("DELETE")
	assert.JSONEq(t, `{"draining":false,"sessions":0,"runs":0}`, text)
	assert.Equal(t, 200, code)
	code, _ = one.Do("POST", "/api/cluster/nodes/nobody/drain", "")
	assert.Equal(t, 404, code)
	code, _, stderr = command(t, env, "cluster", "drain", "nobody")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, `no portal of the cluster has the name "nobody"`)

	// Metrics count what both did, and show that one is cut off, as its health does.
	isConnected := func() bool { return clusterState(two) == "ok" }
	require.Eventually(t, isConnected, time.Minute, time.Second/2)
	m := scrapeOf(t, two)
	assert.Equal(t, 2, m.value("portal_cluster_members"))
	assert.Equal(t, 1, m.value("portal_cluster_connected"))
	assert.Equal(t, 1, m.value("portal_cluster_accepting"))
	for _, name := range []string{"published", "applied", "requests"} {
		assert.Positive(t, m.value("portal_cluster_"+name+"_total"), name)
	}
	m = scrapeOf(t, one)
	assert.Positive(t, m.value("portal_cluster_answers_total"))
	assert.Positive(t, m.value("portal_cluster_claims_total"), "it took a session over")
	assert.Equal(t, 0, m.value("portal_cluster_conflicts_total"))
	network.Sever()
	require.Eventually(t, func() bool { return clusterState(two) == "disconnected" }, time.Minute, time.Second/2)
	assert.Equal(t, 0, scrapeOf(t, two).value("portal_cluster_connected"))
	network.Heal()
	require.Eventually(t, isConnected, time.Minute, time.Second/2)

	// A portal outside the cluster only reads the directory of a node, until that has left the cluster.
	one.Do("POST", "/api/stop", "")
	one.WaitExit(time.Minute)
	storage := func(p *portaltest.Portal) string {
		_, text := p.Do("GET", "/health", "")
		var h struct {
			Storage struct{ State, Message string }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &h))
		return h.Storage.State + h.Storage.Message
	}
	outside := portaltest.Start(t, portaltest.Options{Home: one.Home, Args: []string{"--demo"}})
	assert.Contains(t, storage(outside), `clustered`)
	assert.Contains(t, storage(outside), `node "one" of the cluster "portal"`)
	assert.Contains(t, historyOf(t, outside, id), "moved")
	code, _, stderr = command(t, []string{"PORTAL_DATA_DIR=" + one.DataDir()}, "cluster", "leave")
	require.Equal(t, 0, code, stderr)
	assert.Contains(t, stderr, "has left the cluster portal")
	require.Eventually(t, func() bool { return storage(outside) == "ok" }, time.Minute, time.Second/2)
	outside.Run(id, "say `alone`")

	_, out, _ := command(t, append(env, "PORTAL_DEMO=true"), "doctor", "--json", "0")
	assert.Contains(t, out, `"check": "cluster"`)
}

// sessionsOf returns how many sessions a portal holds.
func sessionsOf(t *testing.T, p *portaltest.Portal) int {
	t.Helper()
	return scrapeOf(t, p).value("portal_sessions", "state", "idle")
}

func TestRefusedNodeReleasesItsDataDirectoryAndConnection(t *testing.T) {
	t.Parallel()
	n := portaltest.NATS(t, clustertest.Options{})
	c, err := load(t, "", append(clusterEnv("one", n.URLs()), "PORTAL_DATA_DIR="+t.TempDir()))
	require.NoError(t, err)
	nothing := func(*jobs.Host) error { return nil }
	discard := slog.New(slog.DiscardHandler)
	require.NoError(t, server.WithStoredJobs(t.Context(), c, discard, nothing))
	c.Cluster.Name = "two"
	_ = server.WithStoredJobs(t.Context(), c, discard, nothing) // the directory belongs to one

	require.Eventually(t, func() bool { return connectionsTo(t, n) == 0 }, soon, tick)
	name, err := server.LeaveCluster(t.Context(), c.DataDir)
	require.NoError(t, err, "the directory is still locked")
	assert.Equal(t, "portal", name)
}

// connectionsTo returns how many clients are connected to a NATS server.
func connectionsTo(t *testing.T, n *clustertest.NATS) int {
	t.Helper()
	resp, err := http.Get(n.Monitors()[0] + "/connz")
	require.NoError(t, err)
	defer resp.Body.Close()
	var state struct {
		Connections int `json:"num_connections"`
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&state))
	return state.Connections
}

func TestPortalWithoutClusterSaysSo(t *testing.T) {
	t.Parallel()
	code, _, stderr := command(t, nil, "cluster", "status")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "this portal belongs to no cluster: set cluster.nats")
	code, _, stderr = command(t, clusterEnv("one", []string{"nats://127.0.0.1:1"}), "cluster", "status")
	assert.Equal(t, 1, code)
	assert.Contains(t, stderr, "cannot use the servers of the cluster (nats://127.0.0.1:1)")
}

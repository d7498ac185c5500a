package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// shortLease is a lease after which tests do not wait long, and within which a busy machine does not silence a node.
const shortLease = "10s"

// startNode starts a portal of a cluster with a home of its own.
func startNode(t *testing.T, name, lease string, urls []string) *portaltest.Portal {
	t.Helper()
	env := append(clusterEnv(name, urls), "PORTAL_CLUSTER_LEASE="+lease)
	return portaltest.Start(t, portaltest.Options{Args: []string{"--demo"}, Env: env})
}

// awaitCluster waits until portals know each other.
func awaitCluster(t *testing.T, portals ...*portaltest.Portal) {
	t.Helper()
	for _, p := range portals {
		require.Eventually(t, func() bool { return clusterMembers(p) == len(portals) }, time.Minute, tick, "the portals do not find each other")
	}
}

// clusterMembers returns how many nodes a portal that accepts prompts knows.
func clusterMembers(p *portaltest.Portal) int {
	_, text := p.Do("GET", "/health", "")
	var h struct {
		Cluster struct {
			State   string
			Members int
		}
	}
	if json.Unmarshal([]byte(text), &h) != nil || h.Cluster.State != "ok" {
		return 0
	}
	return h.Cluster.Members
}

// historyOf returns the events of a session.
func historyOf(t *testing.T, p *portaltest.Portal, id string) string {
	t.Helper()
	var text string
	require.Eventually(t, func() (ok bool) { // a node that lags does not know it yet
		var status int
		status, text = p.Do("GET", "/api/copilot/session/"+id+"/export?format=jsonl", "")
		return status == http.StatusOK
	}, soon, tick)
	_, events, _ := strings.Cut(text, "\n") // the first line describes the session
	return events
}

func TestSessionGoesOnWhenItsNodeIsKilled(t *testing.T) {
	t.Parallel()
	n := portaltest.NATS(t, clustertest.Options{})
	killed, survivor := startNode(t, "one", shortLease, n.URLs()), startNode(t, "two", shortLease, n.URLs())
	awaitCluster(t, killed, survivor)
	id := killed.StartSession(t.TempDir(), "permissions=ask")
	killed.Run(id, "say `heron`")
	require.Eventually(t, func() bool { return strings.Contains(historyOf(t, survivor, id), "heron") }, soon, tick)
	awaitCopy(t, n, id)
	killed.Query(id, "2,000 tokens in 200 s")
	reader := survivor.Follow(id, "far")
	reader.Wait("the answer", func(list []portaltest.Response) bool { return count(list, "onMessage") > 0 })
	killed.Kill()
	at := time.Now()
	reader.Wait("the end of the run", func(list []portaltest.Response) bool { return count(list, "onIdle") == 2 })
	t.Logf("taken over after %v", time.Since(at))
	survivor.Query(id, "recall, then run `pwd`")
	asked := find(t, survivor.Until(id, "onPermissionRequest"), "onPermissionRequest").Text("requestId")
	assert.Empty(t, survivor.API("POST", "copilot/session/"+id+"/answer/"+asked, `{"approved":true}`))
	require.Eventually(t, func() bool { return state(survivor, id) == "idle" }, soon, tick)
	assert.Contains(t, historyOf(t, survivor, id), `1. say `+"`heron`", "the model knows the past")
	assert.Equal(t, []string{"completed", "interrupted", "completed"}, outcomes(t, lines(t, survivor, id)))
	back := killed.Restart()
	awaitCluster(t, back, survivor)
	require.Eventually(t, func() bool { return historyOf(t, survivor, id) == historyOf(t, back, id) }, soon, tick)
	back.Run(id, "say `back`")
	require.Eventually(t, func() bool { return historyOf(t, survivor, id) == historyOf(t, back, id) }, soon, tick)
}

// It is not parallel: the network is a proxy in this process, and stalls beside tests that use all processors.
func TestNodeThatIsCutOffKeepsABranch(t *testing.T) { //nolint:paralleltest // see above
	for name, lease := range map[string]string{"shorter than the lease": "1m", "longer than the lease": shortLease} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := portaltest.NATS(t, clustertest.Options{})
			network := portaltest.Balance(t, n.Addresses()...)
			apart, other := startNode(t, "apart", lease, []string{"nats://" + network.Address()}), startNode(t, "other", lease, n.URLs())
			awaitCluster(t, apart, other)
			id := apart.StartSession(t.TempDir(), "")
			apart.Run(id, "say `before`")
			settle()
			apart.Query(id, "900 tokens in 30 s")
			other.Follow(id, "far").Wait("the answer", func(list []portaltest.Response) bool { return count(list, "onMessage") > 0 })
			near := apart.Follow(id, "near")
			network.Sever()
			if lease != shortLease {
				time.Sleep(time.Second)
				network.Heal()
				require.Eventually(t, func() bool { return clusterMembers(apart) == 2 }, time.Minute, tick)
				all := []string{"completed", "completed"}
				require.Eventually(t, func() bool { return slices.Equal(all, outcomes(t, lines(t, other, id))) }, 2*time.Minute, tick, "nobody took it over")
				require.Eventually(t, func() bool { return historyOf(t, apart, id) == historyOf(t, other, id) }, time.Minute, tick)
				assert.Empty(t, branches(t, other))
				return
			}
			require.Eventually(t, func() bool { return clusterState(apart) == "expired" }, time.Minute, tick)
			status, answer := apart.Do("POST", "/api/copilot/session/"+id+"/query", "say `refused`")
			assert.Equal(t, http.StatusServiceUnavailable, status, answer)
			assert.Contains(t, answer, "cannot reach its cluster")
			all := []string{"completed", "interrupted"}
			require.Eventually(t, func() bool { return slices.Equal(all, outcomes(t, lines(t, other, id))) }, time.Minute, tick, "the other node takes it over")
			other.Query(id, "say `after`")
			all = append(all, "completed")
			require.Eventually(t, func() bool { return slices.Equal(all, outcomes(t, lines(t, other, id))) }, time.Minute, tick)
			network.Heal()
			require.Eventually(t, func() bool { return clusterMembers(apart) == 2 }, time.Minute, tick)
			require.Eventually(t, func() bool { return len(branches(t, other)) == 1 }, time.Minute, tick, "what the node recorded alone is kept")
			require.Eventually(t, func() bool { return historyOf(t, apart, id) == historyOf(t, other, id) }, time.Minute, tick)
			branch := branches(t, other)[0]
			whole, alone := historyOf(t, other, id), historyOf(t, other, branch)
			assert.Greater(t, wordsOf(alone), wordsOf(whole), "the branch has what was recorded while the node was cut off")
			assert.Contains(t, whole, "after")
			apart.Run(id, "say `together`")
			near.Wait("what follows, without an end", func(list []portaltest.Response) bool {
				return slices.ContainsFunc(list, func(r portaltest.Response) bool { return strings.Contains(r.Text("completeContent"), "together") })
			})
		})
	}
}

// branches returns the ids of the branches that a portal lists.
func branches(t *testing.T, p *portaltest.Portal) (ids []string) {
	t.Helper()
	var list struct {
		Sessions []struct{ SessionID, Title, State string }
	}
	_, text := p.Do("GET", "/api/copilot/session", "")
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	for _, s := range list.Sessions {
		if strings.Contains(s.Title, "(branch of apart)") && s.State == "closed" {
			ids = append(ids, s.SessionID)
		}
	}
	return ids
}

// wordsOf returns how many of the words w1, w2 ... a record has.
func wordsOf(history string) (n int) {
	for strings.Contains(history, fmt.Sprintf("w%d ", n+1)) {
		n++
	}
	return n
}

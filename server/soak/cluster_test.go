package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/jetstream"
	"github.com/copilot-portal/portal/copilot/store"
	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// nodes is the number of portals of the cluster, and of its NATS servers.
const nodes = 3

// nodeCluster is a cluster behind a proxy without stickiness.
type nodeCluster struct {
	host     *host
	nats     *clustertest.NATS
	networks []*clustertest.Proxy // between each portal and the servers
	proxy    *clustertest.Proxy
	portals  []*portaltest.Portal
	ports    []int
	homes    []string

	portalKills, natsKills, drops int
}

// startCluster starts the servers and portals and waits until the portals know each other.
func startCluster(t *testing.T) *nodeCluster {
	t.Helper()
	c := &nodeCluster{nats: portaltest.NATS(t, clustertest.Options{Servers: nodes})}
	c.host = &host{t: t, isCluster: true, home: t.TempDir(), temp: t.TempDir(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	var targets []string
	first := freePort(t)
	for i := range nodes {
		c.ports, c.homes = append(c.ports, first+i), append(c.homes, t.TempDir())
		targets = append(targets, fmt.Sprintf("localhost:%d", first+i))
		c.portals = append(c.portals, nil)
		c.networks = append(c.networks, portaltest.Balance(t, c.nats.Addresses()...))
		c.start(i)
	}
	c.proxy = portaltest.Balance(t, targets...)
	c.host.url, c.host.calls = address(c.proxy), address(portaltest.Balance(t, targets...))
	for _, p := range c.portals {
		c.awaitMembers(p)
	}
	return c
}

// address returns the address of a proxy for portals, which accept the name of the local machine.
func address(p *clustertest.Proxy) string {
	return "http://localhost" + p.Address()[strings.LastIndex(p.Address(), ":"):]
}

func (c *nodeCluster) start(i int) {
	lease := "10s"
	if os.Getenv("PORTAL_SOAK_LENGTH") == "" {
		lease = "1m" // no node dies, but a busy machine may silence one
	}
	config := settings + fmt.Sprintf("cluster: {nats: [nats://%s], name: node-%d, replicas: %d, lease: %s}\n", c.networks[i].Address(), i+1, nodes, lease)
	c.portals[i] = portaltest.Start(c.host.t, portaltest.Options{
		Home: c.homes[i], Config: config, Args: []string{"--debug=false", "--port", fmt.Sprint(c.ports[i])}, Env: []string{"TMPDIR=" + c.host.temp},
	})
}

// awaitMembers waits until a portal knows all others.
func (c *nodeCluster) awaitMembers(p *portaltest.Portal) {
	require.Eventually(c.host.t, func() bool {
		_, text, err := p.Try("GET", "/health", "")
		var health struct {
			Cluster struct {
				State   string
				Members int
			}
		}
		return err == nil && json.Unmarshal([]byte(text), &health) == nil && health.Cluster.State == "ok" && health.Cluster.Members == nodes
	}, 2*time.Minute, 100*time.Millisecond, "the portals do not find each other")
}

// How often all connections are dropped, and how many times until the next kill.
const (
	dropEvery     = 1500 * time.Millisecond
	dropsPerKill  = 8
	clusterLength = 15 * time.Second // in the normal test suite
)

// disturb drops all connections again and again until ctx ends. With kills, it also kills each portal and each NATS server in turn.
func (c *nodeCluster) disturb(ctx context.Context, kills bool) {
	for n := 1; wait(ctx, dropEvery); n++ {
		turn := n / dropsPerKill
		switch {
		case !kills || n%dropsPerKill > 0:
			c.drops += c.proxy.Drop()
		case turn%2 == 1:
			c.killPortal(turn / 2 % nodes)
		default:
			c.killNATS(ctx, turn/2%nodes)
		}
	}
}

func (c *nodeCluster) killPortal(i int) {
	c.host.kills = append(c.host.kills, testclock.Now())
	c.portals[i].Kill()
	c.portalKills++
	c.start(i)
}

func (c *nodeCluster) killNATS(ctx context.Context, i int) {
	c.nats.Kill(i)
	c.natsKills++
	wait(ctx, time.Second)
	require.NoError(c.host.t, c.nats.Restart(context.WithoutCancel(ctx), i))
}

// TestClusterLosesNothing uses three portals through a proxy that sends each connection to another one and drops them all again and again. In
// make soak, the portals and their NATS servers are killed, too: a busy machine could choose a leader too slowly for the clients' patience.
// No client may notice more than a lost connection.
func TestClusterLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("keeps two cores busy for a while")
	}
	c := startCluster(t)
	s := &soak{T: t, host: c.host, length: clusterLength}
	kills := os.Getenv("PORTAL_SOAK_LENGTH") != ""
	if kills {
		s.length = length(t)
	}
	s.openSessions()
	s.useWith(func() {
		ctx, cancel := context.WithTimeout(t.Context(), s.length)
		defer cancel()
		c.disturb(ctx, kills)
	})
	s.compare()
	s.judgeClients()
	c.checkHolders()
	t.Logf("%d kills of portals, %d of NATS servers, %d dropped connections\n%s", c.portalKills, c.natsKills, c.drops, s.report())
}

// judgeClients fails if a client lost something or got it twice, or if a prompt was lost.
func (s *soak) judgeClients() {
	for _, v := range s.verdicts {
		assert.Empty(s, v.faults, "%s lost %d and got %d too often", v.dialect, v.lost, v.duplicated)
		assert.NotZero(s, v.events, v.dialect)
	}
	assert.Empty(s, s.prompts.faults)
}

// checkHolders reads the log and checks that at each moment one process held a session: nobody else wrote about it without a claim.
func (c *nodeCluster) checkHolders() {
	c.host.t.Helper()
	log, err := jetstream.Connect(jetstream.Options{Servers: c.nats.URLs(), Name: "portal", Node: "check", Replicas: nodes, Log: slog.New(slog.DiscardHandler)})
	require.NoError(c.host.t, err)
	defer log.Close()
	h := holders{t: c.host.t, held: map[string]store.Change{}}
	last := readLog(c.host.t, log, h.read)
	c.host.t.Logf("the log has %d messages of %d sessions, with %d claims; each session had one holder at a time", last, len(h.held), h.claims)
}

// readLog calls handle with all messages of a log, and returns the sequence of the newest.
func readLog(t *testing.T, log *jetstream.Log, handle func(cluster.Message) error) (last uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), readTime)
	defer cancel()
	last, err := log.Last(ctx)
	require.NoError(t, err)
	err = log.Read(ctx, 0, func(messages []cluster.Message) error {
		for _, m := range messages {
			if err := handle(m); err != nil {
				return err
			}
			if m.Sequence == last {
				return errEnd
			}
		}
		return nil
	})
	require.ErrorIs(t, err, errEnd, "the newest message cannot be read")
	return last
}

var errEnd = errors.New("all messages are read")

// readTime limits how long the log may take to hand over all messages.
const readTime = 2 * time.Minute

// holders are the sessions in a log with what was written last about each.
type holders struct {
	t      *testing.T
	held   map[string]store.Change
	claims int
}

// read checks a message.
func (h *holders) read(m cluster.Message) error {
	change, _, err := cluster.DecodeHead(m.Data)
	if err != nil {
		return err
	}
	if kind, _ := store.SplitSubject(change.Subject); kind != "session" {
		return nil
	}
	before, known := h.held[change.Subject]
	h.held[change.Subject] = change
	switch {
	case !known:
	case change.Claim || change.Removed:
		h.claims++
		assert.Greater(h.t, change.Epoch, before.Epoch, "claim of %s", change.Subject)
	default:
		// A node that was killed and started again writes what it had recorded, as another process.
		assert.Equal(h.t, before.Node, change.Node, "%s is written in epoch %d", change.Subject, change.Epoch)
		assert.Equal(h.t, before.Epoch, change.Epoch, change.Subject)
	}
	return nil
}

// TestCutOffPortalKeepsABranch cuts one portal after the other off from the NATS servers, for longer and longer. Clients use all portals
// meanwhile. No event of a record and no accepted prompt may be lost: what a portal accepted alone is in a branch.
func TestCutOffPortalKeepsABranch(t *testing.T) {
	if os.Getenv("PORTAL_SOAK_LENGTH") == "" {
		t.Skip("takes minutes; server's TestNodeThatIsCutOffKeepsABranch shows the same for one session")
	}
	c := startCluster(t)
	s := &soak{T: t, host: c.host}
	s.openSessions()
	s.useWith(func() {
		for i, cut := range []time.Duration{5 * time.Second, 20 * time.Second, time.Minute} {
			wait(t.Context(), recovery)
			began := testclock.Now()
			c.networks[i].Pause()
			for deadline := time.Now().Add(cut); time.Until(deadline) > 0; c.drops += c.proxy.Drop() {
				wait(t.Context(), min(dropEvery, time.Until(deadline)))
			}
			c.networks[i].Heal()
			c.awaitMembers(c.portals[i])
			c.host.outages = append(c.host.outages, outage{began, testclock.Now()})
		}
		wait(t.Context(), recovery)
	})
	s.compare()
	s.findInBranches()
	s.judgeClients()
	c.checkHolders()
	t.Logf("%d dropped connections\n%s", c.drops, s.report())
}

// recovery is how long all nodes work together between two cuts.
const recovery = 10 * time.Second

// findInBranches checks that the prompts that are not in their session's record are in a branch.
func (s *soak) findInBranches() {
	var list struct {
		Sessions []struct{ SessionID, Title string }
	}
	require.NoError(s, s.host.get(s.Context(), "/api/copilot/session", &list))
	var branched strings.Builder
	branches := 0
	for _, one := range list.Sessions {
		if strings.Contains(one.Title, "(branch of ") {
			branches++
			r, err := s.host.export(s.Context(), one.SessionID)
			require.NoError(s, err)
			for _, e := range r.events {
				branched.WriteString(e.Body.Text + "\n")
			}
		}
	}
	for _, tag := range s.prompts.missing {
		assert.Contains(s, branched.String(), tag+":", "an accepted prompt is neither in the record nor in a branch")
	}
	s.Logf("%d branches, which have %d accepted prompts", branches, len(s.prompts.missing))
}

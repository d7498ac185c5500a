package soak_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot/testclock"
	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// nodes is the number of portals of the cluster, and of its NATS servers.
const nodes = 3

// nodeCluster is a cluster behind a proxy without stickiness.
type nodeCluster struct {
	host    *host
	nats    *clustertest.NATS
	proxy   *clustertest.Proxy
	portals []*portaltest.Portal
	ports   []int
	homes   []string

	portalKills, natsKills, drops int
}

// startCluster starts the servers and portals and waits until the portals know each other.
func startCluster(t *testing.T) *nodeCluster {
	t.Helper()
	c := &nodeCluster{nats: portaltest.NATS(t, clustertest.Options{Servers: nodes})}
	c.host = &host{t: t, home: t.TempDir(), temp: t.TempDir(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	var targets []string
	first := freePort(t)
	for i := range nodes {
		c.ports, c.homes = append(c.ports, first+i), append(c.homes, t.TempDir())
		targets = append(targets, fmt.Sprintf("localhost:%d", first+i))
		c.portals = append(c.portals, nil)
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
	config := settings + fmt.Sprintf("cluster: {nats: [%s], name: node-%d, replicas: %d}\n", strings.Join(c.nats.URLs(), ", "), i+1, nodes)
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
	for _, v := range s.verdicts {
		assert.Empty(s, v.faults, "%s lost %d and got %d too often", v.dialect, v.lost, v.duplicated)
		assert.NotZero(s, v.events, v.dialect)
	}
	assert.Empty(s, s.prompts.faults)
	t.Logf("%d kills of portals, %d of NATS servers, %d dropped connections\n%s", c.portalKills, c.natsKills, c.drops, s.report())
}

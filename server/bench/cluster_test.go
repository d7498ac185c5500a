package bench_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
	"github.com/copilot-portal/portal/server/portaltest/clustertest"
)

// natsServers is their number; each keeps every message, and writes it to the disk before it acknowledges it.
const natsServers = 3

// clusterBench is a cluster of two portals, and a portal alone.
type clusterBench struct {
	nats                 *clustertest.NATS
	holder, other, alone *portaltest.Portal
}

func startClusterBench(tb testing.TB) *clusterBench {
	tb.Helper()
	c := &clusterBench{nats: portaltest.NATS(tb, clustertest.Options{Servers: natsServers})}
	model := startModel(tb)
	c.alone, c.holder, c.other = start(tb, model), c.start(tb, "holder", model, tb.TempDir()), c.start(tb, "other", model, tb.TempDir())
	for _, p := range []*portaltest.Portal{c.holder, c.other} {
		awaitCluster(tb, p, func(h clusterHealth) bool { return h.State == "ok" && h.Members == 2 })
	}
	return c
}

type clusterHealth struct {
	State                    string
	Members, Waiting, Behind int
}

// awaitCluster waits until the health of a node is as wanted.
func awaitCluster(tb testing.TB, p *portaltest.Portal, ok func(clusterHealth) bool) {
	tb.Helper()
	const patience = 15 * time.Minute
	for limit := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		var h struct{ Cluster clusterHealth }
		require.NoError(tb, json.Unmarshal(call(tb, "GET", p.URL+"/health", ""), &h))
		if ok(h.Cluster) {
			return
		}
		require.True(tb, time.Now().Before(limit), "%+v", h.Cluster)
	}
}

// streamDelays reads a session at a portal by /stream until its run ends, and returns how long each chunk took from the model.
func streamDelays(tb testing.TB, p *portaltest.Portal, id string) []time.Duration {
	tb.Helper()
	resp, err := http.Get(p.URL + "/stream/" + id)
	require.NoError(tb, err)
	defer resp.Body.Close()
	var each []time.Duration
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		now, line := time.Now(), lines.Text()
		if strings.Contains(line, `"delta":true`) {
			for _, text := range stamp.FindAllString(line, -1) {
				sent, err := strconv.ParseInt(text, 10, 64)
				require.NoError(tb, err)
				each = append(each, now.Sub(time.Unix(0, sent)))
			}
		}
		if strings.Contains(line, `"status":"completed"`) {
			break
		}
	}
	return each
}

// stamp is a moment that the model has written.
var stamp = regexp.MustCompile(`\b\d{19}\b`)

// The prompt of [BenchmarkCluster].
const (
	clusterChunks = 600
	clusterRate   = 200 // chunks per second
)

// BenchmarkCluster measures what a cluster adds to one portal: the time from the model to a reader at the portal that holds the session and
// at another one, the time until a prompt is accepted, and the work of all processes for an event.
func BenchmarkCluster(b *testing.B) {
	once(b, func() {
		c := startClusterBench(b)
		var alone, holder, other clusterSide
		for range pairs {
			c.stream(b, c.alone, &alone, nil)
			c.stream(b, c.holder, &holder, &other)
		}
		add := func(name, aim string, of clusterSide) {
			p50, p99 := median(differences(of.p50, alone.p50)), median(differences(of.p99, alone.p99))
			report.add("added latency of a chunk at "+name+", p50 (200 chunks/s)", ms(p50), aim, ms(median(alone.p50))+": a portal without a cluster")
			report.add("  p99", ms(p99), "30 ms", ms(median(alone.p99)))
		}
		add("the holder in a cluster", "0 ms", holder)
		add("another node", "5 ms", other)
		report.add("CPU of the holder per event in a cluster", fmt.Sprintf("+%.0f µs", median(holder.cpu)-median(alone.cpu)), "", fmt.Sprintf("%.0f µs: without", median(alone.cpu)))
		report.add("CPU of another node with a reader, per event", fmt.Sprintf("%.0f µs", median(other.cpu)), "", "")
		report.add("CPU of three NATS servers per event", fmt.Sprintf("%.0f µs", median(holder.servers)), "", "")
		c.measurePrompts(b)
	})
}

// clusterSide is what was seen of one kind of reader.
type clusterSide struct {
	p50, p99     []time.Duration
	cpu, servers []float64 // µs per event
}

// stream reads an answer at the portal that has the session and, unless far is nil, at the other one.
func (c *clusterBench) stream(b *testing.B, p *portaltest.Portal, near, far *clusterSide) {
	b.Helper()
	session := newSession(b, p, b.TempDir())
	id := session[strings.LastIndex(session, "/")+1:]
	var readers sync.WaitGroup
	read := func(at *portaltest.Portal, side *clusterSide) {
		readers.Go(func() {
			each := streamDelays(b, at, id)
			if len(each) == clusterChunks {
				side.p50, side.p99 = append(side.p50, quantile(each, 0.5)), append(side.p99, quantile(each, 0.99))
			} else {
				b.Errorf("%d chunks arrived", len(each))
			}
		})
	}
	measure := func(list *[]float64, pids ...int) func() {
		before := microseconds(b, pids...)
		return func() { *list = append(*list, (microseconds(b, pids...)-before)/clusterChunks) }
	}
	read(p, near)
	ends := []func(){measure(&near.cpu, p.PID)}
	if far != nil {
		read(c.other, far)
		ends = append(ends, measure(&far.cpu, c.other.PID), measure(&near.servers, c.nats.PIDs()...))
	}
	call(b, "POST", session+"/query", stream(clusterChunks, clusterRate))
	readers.Wait()
	for _, end := range ends {
		end()
	}
	call(b, "POST", session+"/stop", "")
}

// measurePrompts measures how long a prompt takes until it is accepted, at the node that holds the session and at the other one.
func (c *clusterBench) measurePrompts(b *testing.B) {
	b.Helper()
	session := newSession(b, c.holder, b.TempDir())
	path := strings.TrimPrefix(session, c.holder.URL)
	prompt := func(at *portaltest.Portal) time.Duration {
		began := time.Now()
		answer := call(b, "POST", at.URL+path+"/query", "say ok")
		took := time.Since(began)
		require.NotContains(b, string(answer), "error")
		awaitIdle(b, session)
		return took
	}
	var near, far []time.Duration
	alternateTimes(3*pairs, func(int) { near = append(near, prompt(c.holder)) }, func(int) { far = append(far, prompt(c.other)) })
	report.add("a prompt forwarded to another node is accepted after", "+"+ms(median(differences(far, near))), "1 ms", ms(median(near))+": at the node that holds the session")
}

// awaitIdle waits until a session has no run.
func awaitIdle(tb testing.TB, session string) {
	tb.Helper()
	at := strings.LastIndex(session, "/")
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		var list struct {
			Sessions []struct{ SessionID, State string }
		}
		require.NoError(tb, json.Unmarshal(call(tb, "GET", session[:at], ""), &list))
		for _, s := range list.Sessions {
			if s.SessionID == session[at+1:] && s.State == "idle" {
				return
			}
		}
		require.True(tb, time.Now().Before(limit), "%+v", list)
	}
}

// The prompts of [BenchmarkClusterGrowth].
const (
	growthChunks = 500
	growthRate   = 50 // chunks per second and session
)

// BenchmarkClusterGrowth measures what a node pays for sessions that another one holds and that nobody reads there.
func BenchmarkClusterGrowth(b *testing.B) {
	once(b, func() {
		c := startClusterBench(b)
		for _, sessions := range []int{1, 5, 20} {
			c.grow(b, sessions)
		}
	})
}

// grow lets a number of sessions of the holder run at the same time.
func (c *clusterBench) grow(b *testing.B, sessions int) {
	b.Helper()
	paths := make([]string, sessions)
	for i := range paths {
		paths[i] = newSession(b, c.holder, b.TempDir())
	}
	used := func() (holder, other, servers float64) {
		return microseconds(b, c.holder.PID), microseconds(b, c.other.PID), microseconds(b, c.nats.PIDs()...)
	}
	holder, other, servers := used()
	began := time.Now()
	for _, path := range paths {
		call(b, "POST", path+"/query", stream(growthChunks, growthRate))
	}
	for _, path := range paths {
		awaitIdle(b, path)
	}
	awaitCluster(b, c.other, func(h clusterHealth) bool { return h.Behind == 0 })
	took, events := time.Since(began), float64(sessions*growthChunks)
	holderNow, otherNow, serversNow := used()
	report.add(fmt.Sprintf("CPU per event of a node without readers, %d sessions elsewhere", sessions), fmt.Sprintf("%.0f µs", (otherNow-other)/events), "",
		fmt.Sprintf("%.0f µs: the holder; %.0f µs: three servers; %.0f events/s", (holderNow-holder)/events, (serversNow-servers)/events, events/took.Seconds()))
	for _, path := range paths {
		call(b, "POST", path+"/stop", "")
	}
}

// BenchmarkClusterCatchUp measures how a portal with many sessions shares them with a cluster, and how a new node gets them.
func BenchmarkClusterCatchUp(b *testing.B) {
	once(b, func() {
		a := newArchive(b)
		c := &clusterBench{nats: portaltest.NATS(b, clustertest.Options{Servers: natsServers})}
		model := startModel(b)
		events := float64(a.sessions*eventsEach + longRuns*runEvents + textPieces + 2)
		scale := fmt.Sprintf(" %d sessions with %.1f million events", a.sessions, events/1e6)
		began := time.Now()
		first := c.start(b, "first", model, a.directory)
		awaitCluster(b, first, func(h clusterHealth) bool { return h.State == "ok" && h.Waiting == 0 && h.Behind == 0 })
		report.add("a portal shares"+scale, fmt.Sprintf("%.0f s", time.Since(began).Seconds()), "", "")
		report.add("  its CPU, and that of the servers", fmt.Sprintf("%.1f and %.1f µs per event", microseconds(b, first.PID)/events, microseconds(b, c.nats.PIDs()...)/events), "", "")
		servers := microseconds(b, c.nats.PIDs()...)
		directory := b.TempDir()
		began = time.Now()
		second := c.start(b, "second", model, directory)
		var slowest time.Duration
		awaitCluster(b, second, func(h clusterHealth) bool {
			asked := time.Now()
			call(b, "GET", first.URL+"/api/copilot/session?limit=20", "")
			slowest = max(slowest, time.Since(asked))
			return h.State == "ok" && h.Behind == 0
		})
		report.add("a new node has them after", fmt.Sprintf("%.0f s", time.Since(began).Seconds()), "60 s", "")
		report.add("  slowest list at the first node meanwhile", ms(slowest), "", "")
		report.add("  its CPU, and that of the servers", fmt.Sprintf("%.1f and %.1f µs per event", microseconds(b, second.PID)/events, (microseconds(b, c.nats.PIDs()...)-servers)/events), "", "")
		report.add("  its memory then", mb(memory(b, second.PID, "VmRSS")), "", mb(memory(b, first.PID, "VmRSS"))+": the first node")
		report.add("  its data directory", fmt.Sprintf("%.0f bytes per event", size(b, directory)/events), "", fmt.Sprintf("%.0f: the first node", size(b, a.directory)/events))
		require.JSONEq(b, string(call(b, "GET", first.URL+"/api/copilot/session?limit=50", "")), string(call(b, "GET", second.URL+"/api/copilot/session?limit=50", "")))
	})
}

// start starts a node on a data directory.
func (c *clusterBench) start(tb testing.TB, name, model, directory string) *portaltest.Portal {
	tb.Helper()
	config := fmt.Sprintf("providers: [{name: bench, base_url: %q, models: [%s]}]\ndata_dir: %s\ncluster: {nats: [%s], name: %s, replicas: %d}\n",
		model, modelID, directory, strings.Join(c.nats.URLs(), ", "), name, natsServers)
	return portaltest.Start(tb, portaltest.Options{Config: config, Args: []string{"--debug=false"}})
}

// microseconds is what processes have used of the CPU.
func microseconds(tb testing.TB, pids ...int) (sum float64) {
	tb.Helper()
	for _, pid := range pids {
		sum += float64(cpuTime(tb, pid).Microseconds())
	}
	return sum
}

package server

import (
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/journal"
)

// collector computes metrics on demand from the portal's counters.
type collector struct{ portal *Server }

// Describe implements prometheus.Collector. Each metric is described where it is collected.
func (c collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	s := sample{"portal_", out}
	s.gauge("info", "1, with the version of the portal.", 1, "version", c.portal.version)
	s.flag("storage_ok", "1 if sessions are stored, 0 if they are in memory only.", c.portal.storage.isStoring())
	s.gauge("operation_watchers", "WebSockets that watch operations.", c.portal.ws.Connections())
	stats := c.portal.host.Stats()
	c.collectSessions(s, stats)
	c.collectReaders(s, stats.Readers)
	c.collectAgents(s, stats.Agents)
	if m := c.portal.storage.cluster; m != nil {
		collectCluster(sample{"portal_cluster_", out}, m.node.Status())
	}
}

func (c collector) collectSessions(s sample, stats copilot.Stats) {
	for state, n := range stats.Sessions {
		s.gauge("sessions", "Listed sessions by state.", n, "state", string(state))
	}
	s.gauge("runs_running", "Runs that are working.", stats.Running)
	s.gauge("runs_queued", "Runs that wait for an earlier run of their session or for a slot.", stats.Waiting)
	s.counter("runs_started_total", "Runs that started.", stats.Started)
	for outcome, n := range stats.Ended {
		s.counter("runs_ended_total", "Runs that ended, by outcome.", n, "outcome", string(outcome))
	}
	s.counter("events_recorded_total", "Events recorded in all sessions.", stats.Events)
}

func (c collector) collectReaders(s sample, r journal.Readers) {
	polls := c.portal.rest.Readers()
	s.gauge("readers_attached", "Readers of the REST long poll that called within the last 15 s.", polls.Attached)
	s.gauge("reader_lag_max_events", "Unread events of the attached reader that is farthest behind.", int(min(polls.MaxLag, math.MaxInt)))
	s.gauge("readers_waiting", "Readers that are up to date and wait for the next event.", r.Waiting)
	s.counter("reader_gaps_total", "Gaps reported to readers whose unread events are no longer kept.", r.Gaps)
	buckets, count, bound := map[float64]uint64{}, uint64(0), 1.0
	for i, n := range r.Lags {
		count += n
		if i < len(r.Lags)-1 { // the last bucket has no bound
			buckets[bound] = count
			bound *= 4
		}
	}
	lags := s.desc("reader_lag_events", "Unread events of readers at the time of each read.")
	s.out <- prometheus.MustNewConstHistogram(lags, count, float64(r.Sum), buckets)
}

func (c collector) collectAgents(s sample, a agent.Stats) {
	s.gauge("agent_processes", "Processes of agents.", a.Running)
	s.counter("agent_starts_total", "Processes of agents that were started.", a.Starts)
	s.counter("agent_start_failures_total", "Starts of agents that failed.", a.Failures)
	s.counter("agent_unexpected_ends_total", "Processes of agents that ended unexpectedly.", a.Deaths)
	s.counter("agent_hangs_total", "Processes of agents that were killed because they did not answer.", a.Hangs)
	s.counter("agent_retirements_total", "Processes of agents that were replaced because they used too much memory.", a.Retired)
	for pid, bytes := range c.portal.drivers.memory() {
		s.gauge("agent_resident_memory_bytes", "Memory of each process of an agent (Linux only).", int(bytes), "pid", strconv.Itoa(pid))
	}
}

func collectCluster(s sample, status cluster.Status) {
	s.gauge("info", "1, with the names of the cluster and of this node.", 1, "cluster", status.Name, "node", status.Node)
	s.flag("connected", "1 if the servers of the cluster answered last time, otherwise 0.", status.Connected)
	s.flag("accepting", "1 if this portal accepts prompts, 0 if others may have taken its sessions over.", status.Accepting)
	s.gauge("members", "Portals of the cluster that are heard, this one included.", len(status.Members))
	s.gauge("waiting_changes", "Sessions and activities with changes that the others lack.", status.Waiting)
	s.gauge("lag_messages", "Messages of the log that this portal has not applied, as far as known.", int(status.Lag)) //nolint:gosec // far below the limit
	s.counter("published_total", "Messages that this portal appended to the log.", status.Published)
	s.counter("applied_total", "Messages of the log that this portal applied.", status.Applied)
	s.counter("requests_total", "Calls to other portals of the cluster.", status.Requests)
	s.counter("answers_total", "Calls of other portals that this one answered.", status.Answers)
	s.counter("claims_total", "Times that this portal began to hold a session or an activity.", status.Claims)
	s.counter("conflicts_total", "Messages that the log refused because another portal had changed their subject.", status.Conflicts)
}

// sample sends metrics to a channel. Labels are names and values in turn.
type sample struct {
	prefix string // of all names
	out    chan<- prometheus.Metric
}

func (s sample) gauge(name, help string, n int, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(s.desc(name, help, labels...), prometheus.GaugeValue, float64(n))
}

// flag sends 1 if something is so, otherwise 0.
func (s sample) flag(name, help string, isSo bool) {
	n := 0
	if isSo {
		n = 1
	}
	s.gauge(name, help, n)
}

func (s sample) counter(name, help string, n uint64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(s.desc(name, help, labels...), prometheus.CounterValue, float64(n))
}

func (s sample) desc(name, help string, labels ...string) *prometheus.Desc {
	fixed := prometheus.Labels{}
	for label := range slices.Chunk(labels, 2) {
		fixed[label[0]] = label[1]
	}
	return prometheus.NewDesc(s.prefix+name, help, nil, fixed)
}

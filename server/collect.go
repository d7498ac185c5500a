package server

import (
	"math"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/journal"
)

// collector computes metrics on demand from the portal's counters.
type collector struct {
	portal *Server

	info, sessions, runs, queued, started, ended, events     *prometheus.Desc
	attached, waiting, lag, lags, gaps                       *prometheus.Desc
	agents, starts, failures, deaths, hangs, retired, memory *prometheus.Desc
	stored, watchers                                         *prometheus.Desc
}

func newCollector(s *Server) *collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("portal_"+name, help, labels, nil)
	}
	return &collector{
		portal:   s,
		info:     desc("info", "1, with the version of the portal.", "version"),
		sessions: desc("sessions", "Listed sessions by state.", "state"),
		runs:     desc("runs_running", "Runs that are working."),
		queued:   desc("runs_queued", "Runs that wait for an earlier run of their session or for a slot."),
		started:  desc("runs_started_total", "Runs that started."),
		ended:    desc("runs_ended_total", "Runs that ended, by outcome.", "outcome"),
		events:   desc("events_recorded_total", "Events recorded in all sessions."),
		attached: desc("readers_attached", "Readers of the REST long poll that called within the last 15 s."),
		waiting:  desc("readers_waiting", "Readers that are up to date and wait for the next event."),
		lag:      desc("reader_lag_max_events", "Unread events of the attached reader that is farthest behind."),
		lags:     desc("reader_lag_events", "Unread events of readers at the time of each read."),
		gaps:     desc("reader_gaps_total", "Gaps reported to readers whose unread events are no longer kept."),
		agents:   desc("agent_processes", "Processes of agents."),
		starts:   desc("agent_starts_total", "Processes of agents that were started."),
		failures: desc("agent_start_failures_total", "Starts of agents that failed."),
		deaths:   desc("agent_unexpected_ends_total", "Processes of agents that ended unexpectedly."),
		hangs:    desc("agent_hangs_total", "Processes of agents that were killed because they did not answer."),
		retired:  desc("agent_retirements_total", "Processes of agents that were replaced because they used too much memory."),
		memory:   desc("agent_resident_memory_bytes", "Memory of each process of an agent (Linux only).", "pid"),
		stored:   desc("storage_ok", "1 if sessions are stored, 0 if they are in memory only."),
		watchers: desc("operation_watchers", "WebSockets that watch operations."),
	}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.info, c.sessions, c.runs, c.queued, c.started, c.ended, c.events,
		c.attached, c.waiting, c.lag, c.lags, c.gaps, c.agents, c.starts, c.failures, c.deaths, c.hangs, c.retired, c.memory,
		c.stored, c.watchers,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := sample{out}
	s.gauge(c.info, 1, c.portal.version)
	s.gauge(c.stored, c.portal.storage.isStoring())
	s.gauge(c.watchers, c.portal.ws.Connections())
	stats := c.portal.host.Stats()
	c.collectSessions(s, stats)
	c.collectReaders(s, stats.Readers)
	c.collectAgents(s, stats.Agents)
}

func (c *collector) collectSessions(s sample, stats copilot.Stats) {
	for state, n := range stats.Sessions {
		s.gauge(c.sessions, n, string(state))
	}
	s.gauge(c.runs, stats.Running)
	s.gauge(c.queued, stats.Waiting)
	s.counter(c.started, stats.Started)
	for outcome, n := range stats.Ended {
		s.counter(c.ended, n, string(outcome))
	}
	s.counter(c.events, stats.Events)
}

func (c *collector) collectReaders(s sample, r journal.Readers) {
	polls := c.portal.rest.Readers()
	s.gauge(c.attached, polls.Attached)
	s.gauge(c.lag, int(min(polls.MaxLag, math.MaxInt)))
	s.gauge(c.waiting, r.Waiting)
	s.counter(c.gaps, r.Gaps)
	buckets, count, bound := map[float64]uint64{}, uint64(0), 1.0
	for i, n := range r.Lags {
		count += n
		if i < len(r.Lags)-1 { // the last bucket has no bound
			buckets[bound] = count
			bound *= 4
		}
	}
	s.out <- prometheus.MustNewConstHistogram(c.lags, count, float64(r.Sum), buckets)
}

func (c *collector) collectAgents(s sample, a agent.Stats) {
	s.gauge(c.agents, a.Running)
	s.counter(c.starts, a.Starts)
	s.counter(c.failures, a.Failures)
	s.counter(c.deaths, a.Deaths)
	s.counter(c.hangs, a.Hangs)
	s.counter(c.retired, a.Retired)
	for pid, bytes := range c.portal.drivers.memory() {
		s.gauge(c.memory, int(bytes), strconv.Itoa(pid))
	}
}

// sample sends metrics to a channel.
type sample struct{ out chan<- prometheus.Metric }

func (s sample) gauge(d *prometheus.Desc, n int, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(n), labels...)
}

func (s sample) counter(d *prometheus.Desc, n uint64, labels ...string) {
	s.out <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

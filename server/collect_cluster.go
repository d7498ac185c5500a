package server

import (
	"github.com/prometheus/client_golang/prometheus"
)

// clusterCollector computes the metrics of a portal in a cluster.
type clusterCollector struct {
	cluster *membership

	connected, accepting, members, waiting, lag                    *prometheus.Desc
	published, applied, requests, answers, claims, conflicts, info *prometheus.Desc
}

func newClusterCollector(m *membership) *clusterCollector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("portal_cluster_"+name, help, labels, nil)
	}
	return &clusterCollector{
		cluster:   m,
		info:      desc("info", "1, with the names of the cluster and of this node.", "cluster", "node"),
		connected: desc("connected", "1 if the servers of the cluster answered last time, otherwise 0."),
		accepting: desc("accepting", "1 if this portal accepts prompts, 0 if others may have taken its sessions over."),
		members:   desc("members", "Portals of the cluster that are heard, this one included."),
		waiting:   desc("waiting_changes", "Sessions and activities with changes that the others lack."),
		lag:       desc("lag_messages", "Messages of the log that this portal has not applied, as far as known."),
		published: desc("published_total", "Messages that this portal appended to the log."),
		applied:   desc("applied_total", "Messages of the log that this portal applied."),
		requests:  desc("requests_total", "Calls to other portals of the cluster."),
		answers:   desc("answers_total", "Calls of other portals that this one answered."),
		claims:    desc("claims_total", "Times that this portal began to hold a session or an activity."),
		conflicts: desc("conflicts_total", "Messages that the log refused because another portal had changed their subject."),
	}
}

// Describe implements prometheus.Collector.
func (c *clusterCollector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		c.info, c.connected, c.accepting, c.members, c.waiting, c.lag, c.published, c.applied, c.requests, c.answers, c.claims, c.conflicts,
	} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *clusterCollector) Collect(out chan<- prometheus.Metric) {
	s, status := sample{out}, c.cluster.node.Status()
	number := map[bool]int{true: 1}
	s.gauge(c.info, 1, status.Name, status.Node)
	s.gauge(c.connected, number[status.Connected])
	s.gauge(c.accepting, number[status.Accepting])
	s.gauge(c.members, len(status.Members))
	s.gauge(c.waiting, status.Waiting)
	s.gauge(c.lag, int(status.Lag)) //nolint:gosec // far below the limit
	s.counter(c.published, status.Published)
	s.counter(c.applied, status.Applied)
	s.counter(c.requests, status.Requests)
	s.counter(c.answers, status.Answers)
	s.counter(c.claims, status.Claims)
	s.counter(c.conflicts, status.Conflicts)
}

package server

import (
	"github.com/prometheus/client_golang/prometheus"
)

// clusterCollector computes the metrics of a portal in a cluster.
type clusterCollector struct{ cluster *membership }

// Describe implements prometheus.Collector. Each metric is described where it is collected.
func (c clusterCollector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c clusterCollector) Collect(out chan<- prometheus.Metric) {
	s, status := sample{"portal_cluster_", out}, c.cluster.node.Status()
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

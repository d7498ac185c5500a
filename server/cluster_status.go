package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/jetstream"
	"github.com/copilot-portal/portal/copilot/fault"
)

// ClusterStatus describes a cluster.
type ClusterStatus struct {
	Name   string        `json:"name"`
	Newest uint64        `json:"newest"` // sequence of the log's newest message
	Nodes  []ClusterNode `json:"nodes"`  // by name
}

// ClusterNode is a portal of a cluster.
type ClusterNode struct {
	Node        string   `json:"node"`
	Process     string   `json:"process"` // what the portals call each other
	PID         int      `json:"pid"`
	State       string   `json:"state"` // "ok", "draining" or "silent"
	Sessions    int      `json:"sessions"`
	MaxSessions int      `json:"maxSessions"`
	Runs        int      `json:"runs"`
	Directories []string `json:"directories"` // in which it takes sessions of others; none: in all that it has
	Waiting     int      `json:"waiting"`     // sessions and activities with changes that the others lack
	Behind      uint64   `json:"behind"`      // messages of the log that it has not applied
	SilentMs    int64    `json:"silentMs"`    // since it was heard
}

func newClusterNode(s cluster.State, process string, newest uint64, silent, lease time.Duration) ClusterNode {
	n := ClusterNode{
		Node: s.Node, Process: process, PID: s.PID, State: "ok", Sessions: s.Sessions, MaxSessions: s.MaxSessions, Runs: s.Runs,
		Directories: append([]string{}, s.Directories...), Waiting: s.Waiting, Behind: max(newest, s.Applied) - s.Applied, SilentMs: max(0, silent.Milliseconds()),
	}
	switch {
	case silent > lease:
		n.State = "silent"
	case s.Draining:
		n.State = "draining"
	}
	return n
}

// status returns the cluster as this portal sees it.
func (m *membership) status() ClusterStatus {
	s := m.node.Status()
	c := ClusterStatus{Name: s.Name, Newest: s.Newest, Nodes: []ClusterNode{}}
	for _, o := range s.Members { // all of them were heard within a lease
		c.Nodes = append(c.Nodes, newClusterNode(o.State, o.Process, s.Newest, o.Silent, max(o.Silent, time.Second)))
	}
	return c
}

// errNoCluster reports that there is no cluster.
var errNoCluster = fault.Errorf(fault.Invalid, "this portal belongs to no cluster: set cluster.nats (spec/cluster.md)")

// clusterTime limits what commands ask the servers of a cluster.
const clusterTime = 20 * time.Second

// ClusterClient is a cluster as a command sees it. [WithCluster] opens and closes it.
type ClusterClient struct {
	config Cluster
	log    *jetstream.Log
}

// WithCluster calls do with the configured cluster, whether or not a portal runs.
func WithCluster(c Config, do func(*ClusterClient) error) error {
	if !c.Cluster.isOn() {
		return errNoCluster
	}
	l, err := jetstream.Dial(c.Cluster.servers(slog.New(slog.DiscardHandler)))
	if err != nil {
		return fmt.Errorf("cannot use the servers of the cluster (%s): %w; portal cluster check says more", c.Cluster.addresses(), err)
	}
	defer l.Close()
	return do(&ClusterClient{c.Cluster, l})
}

// Status returns what the portals of the cluster have announced within the last minute.
func (v *ClusterClient) Status(ctx context.Context) (s ClusterStatus, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTime, errSilentServers)
	defer cancel()
	s = ClusterStatus{Name: v.config.Group, Nodes: []ClusterNode{}}
	if s.Newest, err = v.log.Last(ctx); err != nil {
		return s, causeOf(ctx, err)
	}
	list, err := v.log.Announced(ctx)
	for _, a := range list {
		s.Nodes = append(s.Nodes, newClusterNode(a.State, a.Process, s.Newest, time.Since(a.Heard), v.config.Lease))
	}
	return s, causeOf(ctx, err)
}

// errSilentServers reports that a command gives up.
var errSilentServers = fmt.Errorf("the servers of the cluster have not answered for %v: portal cluster check says more", clusterTime)

// causeOf returns why ctx ended if it did, otherwise err.
func causeOf(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Drain makes a node open no sessions and hand over its idle ones, or ends that. The name "" is the configured one. It returns
// what is left there.
func (v *ClusterClient) Drain(ctx context.Context, node string, on bool) (left copilot.Draining, err error) {
	if node == "" {
		node = v.config.Name
	}
	s, err := v.Status(ctx)
	if err != nil {
		return left, err
	}
	process, err := s.find(node)
	if err != nil {
		return left, err
	}
	silent := fmt.Errorf("node %s does not answer: has it stopped?", node)
	ctx, cancel := context.WithTimeoutCause(ctx, clusterTime, silent)
	defer cancel()
	err = cluster.Ask(ctx, v.log, process, copilot.DrainPath, on, &left)
	if errors.Is(err, cluster.ErrNobody) {
		return left, silent
	}
	return left, causeOf(ctx, err)
}

// find returns the process of a node. Errors: kind [fault.NotFound] if there is none, [fault.Unavailable] if it is silent.
func (s ClusterStatus) find(node string) (process string, err error) {
	err = fault.Errorf(fault.NotFound, "no portal of the cluster has the name %q: see portal cluster status", node)
	for _, n := range s.Nodes {
		switch {
		case n.Node != node:
		case n.State == "silent": // if it was restarted, the new process follows
			err = fault.Errorf(fault.Unavailable, "node %s is silent: it has stopped, or it cannot reach the cluster", node)
		default:
			return n.Process, nil
		}
	}
	return "", err
}

// clusterRoutes adds the routes below api/cluster.
func (s *Server) clusterRoutes(r gin.IRoutes) {
	r.GET("/cluster", func(c *gin.Context) {
		c.Header("Cache-Control", "no-store")
		if s.storage.cluster == nil {
			refuse(c, http.StatusNotFound, errNoCluster.Text)
			return
		}
		c.JSON(http.StatusOK, s.storage.cluster.status())
	})
	r.POST("/cluster/nodes/:node/drain", func(c *gin.Context) { s.drain(c, true) })
	r.DELETE("/cluster/nodes/:node/drain", func(c *gin.Context) { s.drain(c, false) })
}

// drain drains a node, or ends that.
func (s *Server) drain(c *gin.Context, on bool) {
	c.Header("Cache-Control", "no-store")
	if s.storage.cluster == nil {
		refuse(c, http.StatusNotFound, errNoCluster.Text)
		return
	}
	process, err := s.storage.cluster.status().find(c.Param("node"))
	var left copilot.Draining
	if err == nil {
		left, err = s.host.DrainProcess(c.Request.Context(), process, on)
	}
	switch {
	case err == nil:
		c.JSON(http.StatusOK, left)
	case fault.KindOf(err) == fault.NotFound:
		refuse(c, http.StatusNotFound, err.Error())
	default:
		refuse(c, http.StatusServiceUnavailable, err.Error())
	}
}

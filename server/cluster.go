package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/copilot/cluster"
	"github.com/copilot-portal/portal/copilot/cluster/jetstream"
	"github.com/copilot-portal/portal/copilot/flock"
	"github.com/copilot-portal/portal/copilot/store"
)

// Cluster contains the settings of a portal that shares its sessions with those on other machines.
type Cluster struct {
	NATS        []string      `mapstructure:"nats" secret:"addresses"` // URLs of the servers; none: there is no cluster
	Group       string        `mapstructure:"group"`
	Name        string        `mapstructure:"name"` // of this node; "": that of the machine
	Credentials string        `mapstructure:"credentials"`
	TLS         ClusterTLS    `mapstructure:"tls"`
	Replicas    int           `mapstructure:"replicas"`
	Lease       time.Duration `mapstructure:"lease"`       // how long a node may be silent before others take over its sessions
	Directories []string      `mapstructure:"directories"` // in which this node takes sessions of others; none: in all that it has
}

// ClusterTLS names the files with which the portal proves who it is to the servers of the cluster, and recognizes them.
type ClusterTLS struct {
	CA   string `mapstructure:"ca"`
	Cert string `mapstructure:"cert"`
	Key  string `mapstructure:"key"`
}

// addresses returns the URLs of the servers for people, without passwords.
func (c *Cluster) addresses() string {
	var list []string
	for _, url := range c.NATS {
		list = append(list, WithoutSecrets(url))
	}
	return strings.Join(list, ", ")
}

// isOn reports whether there is a cluster.
func (c *Cluster) isOn() bool { return len(c.NATS) > 0 }

// clusterName matches names of clusters and nodes, which become parts of subjects.
var clusterName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// minLease is the shortest lease: the servers may take this long to choose a new leader.
const minLease = 2 * time.Second

// check reports each fault.
func (c *Cluster) check(fault func(format string, args ...any)) {
	if !c.isOn() {
		return
	}
	if c.Name == "" {
		c.Name = machineName()
	}
	for key, name := range map[string]string{"group": c.Group, "name": c.Name} {
		if !clusterName.MatchString(name) {
			fault("cluster.%s: %q is not a name of letters, digits, - and _", key, name)
		}
	}
	if i := slices.IndexFunc(c.NATS, func(s string) bool { u, err := url.Parse(s); return err != nil || u.Host == "" }); i >= 0 {
		fault("cluster.nats: %q is not a URL such as nats://host:4222", WithoutSecrets(c.NATS[i]))
	}
	if c.Lease < minLease {
		fault("cluster.lease: %s is shorter than %s", c.Lease, minLease)
	}
	if c.Replicas < 1 || c.Replicas > 5 {
		fault("cluster.replicas: %d is not between 1 and 5", c.Replicas)
	}
	c.TLS.check(fault)
	if i := slices.IndexFunc(c.Directories, func(d string) bool { return !filepath.IsAbs(d) }); i >= 0 {
		fault("cluster.directories: %q is not an absolute path", c.Directories[i])
	}
}

// check reports each fault.
func (t *ClusterTLS) check(fault func(format string, args ...any)) {
	if (t.Cert == "") != (t.Key == "") {
		fault("cluster.tls: cert and key belong together")
	}
}

// machineName returns the name of the machine, as far as it can be the name of a node.
func machineName() string {
	name, _ := os.Hostname() // "": the check says so
	return regexp.MustCompile(`[^A-Za-z0-9_-]+`).ReplaceAllString(name, "-")
}

// membership is a portal's part in a cluster.
type membership struct {
	log  *jetstream.Log
	node *cluster.Node
	lock *os.File // of the data directory
}

// lockTime limits how long a portal waits for the one before on its data directory.
const lockTime = 5 * time.Second

// openClustered opens the data directory of a node. One process at a time uses it.
func openClustered(ctx context.Context, c Config, log *slog.Logger) (s *store.Store, m *membership, err error) {
	if err := os.MkdirAll(c.DataDir, 0o700); err != nil {
		return nil, nil, err
	}
	opened := &membership{}
	if opened.lock, err = lockNode(ctx, c.DataDir); err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			opened.close()
		}
	}()
	if opened.log, err = jetstream.Connect(c.Cluster.servers(log)); err != nil {
		return nil, nil, fmt.Errorf("cannot use the servers of the cluster: %w", err)
	}
	opened.node = cluster.New(opened.log, cluster.Options{Name: c.Cluster.Group, Node: c.Cluster.Name, Lease: c.Cluster.Lease, Log: log, Needs: copilot.NeedsObject})
	if s, err = store.Open(ctx, store.Options{Directory: c.DataDir, Log: log, Cluster: opened.node}); err != nil {
		return nil, nil, err
	}
	if err = opened.node.Join(ctx, s); err != nil {
		return nil, nil, errors.Join(err, s.Close())
	}
	return s, opened, nil
}

// lockNode makes this process the only one that works with the data directory of a node, until the file is closed.
func lockNode(ctx context.Context, dir string) (*os.File, error) {
	ctx, cancel := context.WithTimeout(ctx, lockTime)
	defer cancel()
	lock, err := flock.Lock(ctx, filepath.Join(dir, "cluster.lock"))
	if err != nil {
		return nil, fmt.Errorf("another process works with %s, which belongs to a node of a cluster: use that portal, or another data directory: %w", dir, err)
	}
	return lock, nil
}

// LeaveCluster ends the part of a data directory in its cluster, and returns the cluster's name; "": it had no part in one. No portal may work with
// the directory as a node.
func LeaveCluster(ctx context.Context, dir string) (name string, err error) {
	if _, err := os.Stat(dir); err != nil {
		return "", fmt.Errorf("there is no data directory: %w", err)
	}
	lock, err := lockNode(ctx, dir)
	if err != nil {
		return "", err
	}
	defer lock.Close() //nolint:errcheck // ends the lock
	return store.Leave(ctx, store.Options{Directory: dir})
}

// servers returns how to reach the servers of the cluster.
func (c *Cluster) servers(log *slog.Logger) jetstream.Options {
	return jetstream.Options{
		Servers: c.NATS, Name: c.Group, Node: c.Name, Credentials: c.Credentials, Replicas: c.Replicas,
		CA: c.TLS.CA, Cert: c.TLS.Cert, Key: c.TLS.Key, Log: log,
	}
}

// start starts to work in the cluster for a host.
func (m *membership) start(ctx context.Context, h *copilot.Host, c Config) {
	m.node.Start(ctx, h.SessionsChanged, func() cluster.State {
		d := h.Draining()
		return cluster.State{
			PID: os.Getpid(), Sessions: d.Sessions, Runs: d.Runs, Draining: d.Draining,
			MaxSessions: c.Limits.Sessions, Directories: c.Cluster.Directories,
		}
	})
}

// moves returns what moves the conversations of an agent; nil if it cannot.
func (m *membership) moves(c Config, first driver) *copilot.Moves {
	cli, ok := first.(*sdk.Driver)
	if !ok {
		return nil
	}
	return &copilot.Moves{Node: c.Cluster.Name, Pack: cli.Pack, Unpack: cli.Unpack, Put: m.log.Put, Get: m.log.Get}
}

// leave leaves the cluster. The store must be open, the host closed.
func (m *membership) leave() {
	if m != nil {
		m.node.Close()
	}
}

// close releases the connection and the data directory. The store must be closed.
func (m *membership) close() {
	if m == nil {
		return
	}
	if m.log != nil {
		m.log.Close()
	}
	_ = m.lock.Close()
}

// clusterHealth is the state of the cluster for GET /health.
type clusterHealth struct {
	State   string `json:"state"` // "ok", "behind", "disconnected" or "expired"
	Message string `json:"message"`
	Node    string `json:"node"`
	Members int    `json:"members"`
	Waiting int    `json:"waiting"` // sessions and activities with changes that the others lack
	Behind  uint64 `json:"behind"`  // messages of the log that are not applied yet
}

// health returns the state of the cluster; nil without one.
func (m *membership) health() *clusterHealth {
	if m == nil {
		return nil
	}
	s := m.node.Status()
	h := &clusterHealth{State: "ok", Node: s.Node, Members: len(s.Members), Waiting: s.Waiting, Behind: s.Lag}
	switch err := m.node.Accepting(); {
	case err != nil:
		h.State, h.Message = "expired", err.Error()
	case !s.Connected:
		h.State, h.Message = "disconnected", "the servers of the cluster do not answer: what happens here is stored, and shared when they do"
	case !s.CaughtUp:
		h.State, h.Message = "behind", fmt.Sprintf("this portal reads what the others have recorded, %d messages are left: lists and records are incomplete", s.Lag)
	}
	return h
}

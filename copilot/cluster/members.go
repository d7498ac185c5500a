package cluster

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// State is what a node says about itself.
type State struct {
	Node        string
	PID         int
	Sessions    int      // open ones
	Runs        int      // that work
	MaxSessions int      // 0: no limit
	Directories []string // in which it takes sessions; none: everywhere
	Draining    bool     // it takes no new sessions
	Applied     uint64   // newest message of the log that its store has
	Waiting     int      // subjects with changes that the log lacks
}

// Member is a process of the cluster.
type Member struct {
	State

	Process string // its [store.Store.Name]
	Silent  time.Duration
}

// member is what this node knows of another one.
type member struct {
	state State
	left  bool
	heard time.Time
	at    time.Duration // how long this node had been listening then
}

// hearing is how long this node has been listening to the others. It can tell from its own announcements, which come back
// in between theirs: while it does not hear these, it hears nobody, and the others are not silent.
type hearing struct {
	self time.Time     // when it heard itself last; zero: never
	time time.Duration // how long it has been listening until then
}

// heardSelf notes that this node has heard itself. Of a long pause, in which the servers may have chosen a leader, only a part counts:
// the announcements of the others were delayed by it, too.
func (h *hearing) heardSelf(lease time.Duration) {
	now := time.Now()
	if !h.self.IsZero() {
		h.time += min(now.Sub(h.self), 2*lease/announcementsPerLease)
	}
	h.self = now
}

// announcementsPerLease is how often a node announces itself while others may miss it.
const announcementsPerLease = 8

// regularly calls do as often as a node announces itself, until ctx ends.
func (n *Node) regularly(ctx context.Context, do func(context.Context)) {
	do(ctx)
	every(ctx, n.options.Lease/announcementsPerLease, do)
}

// every calls do after each interval, until ctx ends.
func every(ctx context.Context, interval time.Duration, do func(context.Context)) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			do(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// announce announces this node. An attempt that gets no answer, because the servers choose a leader, ends when the next one is due.
func (n *Node) announce(ctx context.Context) {
	data, _ := json.Marshal(n.describe()) // it always encodes
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, n.options.Lease/announcementsPerLease)
	defer cancel()
	if err := n.log.Announce(ctx, n.process, data); err != nil {
		n.options.Log.Debug("this node could not announce itself", "error", err)
		n.update(func() { n.reached = false })
		return
	}
	n.update(func() { n.valid, n.reached = sent.Add(n.options.Lease), true })
}

// watch hears the announcements of all members until that fails.
func (n *Node) watch(ctx context.Context) error {
	return n.untilStuck(ctx, n.missesOwnAnnouncements, func(ctx context.Context) error { return n.log.Watch(ctx, n.hear) })
}

// missesOwnAnnouncements reports whether this node does not hear itself although it has announced itself.
func (n *Node) missesOwnAnnouncements(context.Context) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return time.Now().Before(n.valid) && time.Since(n.hearing.self) > n.options.Lease
}

// hear notes an announcement.
func (n *Node) hear(process string, data []byte) {
	var state State
	known := json.Unmarshal(data, &state) == nil
	n.update(func() {
		if process == n.process {
			n.hearing.heardSelf(n.options.Lease)
		} else if known || len(data) == 0 {
			n.members[process] = &member{state: state, left: len(data) == 0, heard: time.Now(), at: n.hearing.time}
		}
	})
}

// IsMember implements [store.Cluster]. A process is no member any more when it has left, or when this node has been listening for the
// time of a lease without hearing it.
func (n *Node) IsMember(process string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	m := n.members[process]
	switch {
	case process == n.process:
		return true
	case m == nil: // it may not have been heard yet
		return n.hearing.time < n.options.Lease
	}
	return !m.left && n.hearing.time-m.at < n.options.Lease
}

// isHeard reports whether this node has heard another process lately. The caller must hold the lock.
func (n *Node) isHeard(process string) bool {
	m := n.members[process]
	return m != nil && !m.left && n.hearing.time-m.at < n.options.Lease && time.Since(m.heard) < 2*n.options.Lease
}

// Members returns the processes of the cluster, this one included, by the names of their nodes.
func (n *Node) Members() []Member {
	own := n.describe()
	n.mu.Lock()
	defer n.mu.Unlock()
	list := []Member{{State: own, Process: n.process}}
	for process, m := range n.members {
		if n.isHeard(process) {
			list = append(list, Member{m.state, process, time.Since(m.heard)})
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Node, b.Node) })
	return list
}

// Candidates returns the other processes that take sessions, the least busy first.
func (n *Node) Candidates() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []string
	for process, m := range n.members {
		full := m.state.MaxSessions > 0 && m.state.Sessions >= m.state.MaxSessions
		if n.isHeard(process) && !m.state.Draining && !full {
			list = append(list, process)
		}
	}
	slices.SortFunc(list, func(a, b string) int {
		x, y := n.members[a].state, n.members[b].state
		return cmp.Or(cmp.Compare(x.Runs, y.Runs), cmp.Compare(x.Sessions, y.Sessions), strings.Compare(a, b))
	})
	return list
}

// Accepting returns nil while the others take this node for alive. Otherwise another one may take its sessions over, so it must not
// accept prompts. The kind of its error is [fault.Unavailable].
func (n *Node) Accepting() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if time.Now().Before(n.valid) {
		return nil
	}
	return fault.Errorf(fault.Unavailable, "this portal cannot reach its cluster: runs continue, but new prompts must wait until it can, or go to another portal")
}

// Counts are figures for metrics.
type Counts struct {
	Published, Applied, Requests, Answers uint64
	Claims                                uint64 // sessions and activities that this node began to hold
	Conflicts                             uint64 // messages that were refused because another node had changed their subject
	Waiting                               int    // subjects with changes that the log lacks
	Lag                                   uint64 // messages of the log that are not applied yet, as far as known
}

// Status describes the node for health checks and metrics.
type Status struct {
	Counts

	Name, Node string
	Connected  bool
	Accepting  bool
	CaughtUp   bool // it has what the log had when it started; before, lists and records are incomplete
	Members    []Member
	Newest     uint64 // sequence of the log, as far as known
}

// Status returns the state of the node.
func (n *Node) Status() Status {
	s := Status{Name: n.options.Name, Node: n.options.Node, Members: n.Members(), Accepting: n.Accepting() == nil}
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Counts, s.Connected, s.CaughtUp = n.counts, n.reached, n.caughtUp
	s.Waiting, s.Lag, s.Newest = n.countWaiting(), n.lag(), max(n.newest, n.applied)
	return s
}

package cluster

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
)

// describe returns what this node says about itself.
func (n *Node) describe() State {
	s := n.state()
	s.Node = n.options.Node
	n.mu.Lock()
	defer n.mu.Unlock()
	s.Applied, s.Waiting = n.applied, n.countWaiting()
	return s
}

// countWaiting returns how many subjects have changes that the log lacks. The caller must hold the lock.
func (n *Node) countWaiting() (waiting int) {
	for _, p := range n.progress {
		if p.state != shipped {
			waiting++
		}
	}
	return waiting
}

// measureLag asks the log for its newest message, to report how far this node is behind.
func (n *Node) measureLag(ctx context.Context) {
	last, err := n.last(ctx)
	if err != nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.newest = last
	n.caughtUp = n.caughtUp || n.lag() <= maxLag
}

// maxLag is how many messages a node may be behind when it counts as caught up with the log: under load, some are always on their way.
const maxLag = 1000

// lag returns how many messages of the log are not applied yet, as far as known. The caller must hold the lock.
func (n *Node) lag() uint64 { return max(n.newest, n.applied) - n.applied }

// Ask calls a process of a cluster for somebody who is no member of it. Errors: [ErrNobody], those of the process, and those of the log.
func Ask(ctx context.Context, log Log, process, path string, params, result any) error {
	body, err := json.Marshal(params)
	if err != nil {
		return err
	}
	r, err := send(ctx, log, process, request{Path: path, Body: body})
	switch {
	case err != nil:
		return err
	case r.Status == http.StatusNotFound:
		return fault.Errorf(fault.Unavailable, "the portal does not know this call: its version may be older")
	}
	return ipc.Decode(r.Status, r.Body, result)
}

// Announcement is what a process of a cluster has said about itself last.
type Announcement struct {
	State

	Process string
	Heard   time.Time // on the clock of the log
}

package cluster

import (
	"context"

	"github.com/copilot-portal/portal/copilot/store"
)

// follow applies the log to the store.
func (n *Node) follow(ctx context.Context) error {
	n.mu.Lock()
	after := n.applied
	n.mu.Unlock()
	return n.log.Read(ctx, after, func(messages []Message) error {
		changes := make([]store.Logged, len(messages))
		for i, m := range messages {
			c, err := n.decode(ctx, m.Data)
			if err != nil {
				return err
			}
			changes[i] = store.Logged{Change: c, Sequence: m.Sequence}
		}
		sessions, err := n.store.Apply(ctx, changes)
		if err != nil {
			return err
		}
		n.noteApplied(changes)
		if len(sessions) > 0 {
			n.applies(sessions)
		}
		return nil
	})
}

// noteApplied records what the store has, and sends again what another node's change has delayed.
func (n *Node) noteApplied(changes []store.Logged) {
	n.update(func() {
		for _, c := range changes {
			n.applied = c.Sequence
			n.reached = true
			n.counts.Applied++
			p := n.subject[c.Subject]
			switch {
			case p == nil:
			case p.state == contested:
				p.state, p.known = waiting, false
				signal(n.wake)
			case p.state == shipped && c.Sequence >= p.newest:
				delete(n.subject, c.Subject) // the store knows as much
			}
		}
	})
}

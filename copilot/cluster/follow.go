package cluster

import (
	"context"
	"fmt"

	"github.com/copilot-portal/portal/copilot/store"
)

// follow applies the log to the store.
func (n *Node) follow(ctx context.Context) error {
	after, err := n.join(ctx) // the file may have been replaced
	if err != nil {
		return err
	}
	last, err := n.last(ctx)
	if err != nil {
		return err
	}
	if last < after { // what follows would be taken for known
		err := fmt.Errorf("the cluster's log ends at message %d, but this node has applied %d: its servers have lost data", last, after)
		n.options.Log.Error(err.Error())
		return err
	}
	return n.untilStuck(ctx, n.isStuck(), func(ctx context.Context) error { return n.log.Read(ctx, after, n.apply(ctx)) })
}

func (n *Node) last(ctx context.Context) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	return n.log.Last(ctx)
}

// isStuck returns a function that reports whether the log has messages and none has come since the call before, or the store does not
// have any more what it had then.
func (n *Node) isStuck() func(context.Context) bool {
	var before uint64
	return func(ctx context.Context) bool {
		stored, err := n.store.Applied(ctx)
		n.mu.Lock()
		defer n.mu.Unlock()
		stuck := n.lag() > 0 && n.applied == before || err == nil && stored < before
		before = n.applied
		return stuck
	}
}

// apply returns a function that applies messages.
func (n *Node) apply(ctx context.Context) func([]Message) error {
	return func(messages []Message) error {
		changes := make([]store.Logged, len(messages))
		for i, m := range messages {
			c, err := n.decode(ctx, m.Data)
			if err != nil {
				n.options.Log.Error("a message of the cluster's log cannot be read", "sequence", m.Sequence, "error", err)
				return err
			}
			changes[i] = store.Logged{Change: c, Sequence: m.Sequence}
		}
		sessions, err := n.store.Apply(ctx, changes, n.isUrgent(messages))
		if err != nil {
			return err
		}
		n.noteApplied(changes)
		if len(sessions) > 0 {
			n.applies(sessions)
		}
		return nil
	}
}

// manyMessages is the number of messages that a node applies at once: it is catching up.
const manyMessages = 64

// isUrgent reports whether messages must be applied at once: somebody waits for them, or there are many.
func (n *Node) isUrgent(messages []Message) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.catchingUp > 0 || len(messages) >= manyMessages
}

// maxKnown is the number of subjects from which on the progress of those that wait for nothing is looked up in the store.
const maxKnown = 10_000

// noteApplied records what the store has, and sends again what a newer message has delayed.
func (n *Node) noteApplied(changes []store.Logged) {
	n.update(func() {
		n.reached = true
		for _, c := range changes {
			if c.Sequence <= n.applied { // read again
				continue
			}
			n.applied = c.Sequence
			n.counts.Applied++
			if c.Removed && c.Node == n.options.Node && !store.IsRow(c.Subject) {
				n.removed[c.Subject] = c.Sequence
				signal(n.purge)
			}
			n.releaseDelayed(c.Subject)
			n.noteSubject(c.Subject, c.Sequence)
		}
	})
}

// noteSubject records that the store has a message about a subject. The caller must hold the lock.
func (n *Node) noteSubject(subject string, sequence uint64) {
	p := n.progress[subject]
	switch {
	case p == nil:
	case p.state == contested:
		p.known = false
		n.wait(subject, p)
	case sequence < p.newest:
	case p.state == shipped && (sequence > p.newest || len(n.progress) > maxKnown):
		delete(n.progress, subject) // the store knows as much
	case sequence > p.newest:
		p.known = false
	}
}

// purgeRemoved removes from the log what was said about sessions and activities before this node removed them.
func (n *Node) purgeRemoved(ctx context.Context) error {
	for {
		n.mu.Lock()
		var subject string
		var sequence uint64
		for subject, sequence = range n.removed {
			break
		}
		n.mu.Unlock()
		if subject == "" {
			select {
			case <-n.purge:
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := n.purgeSubject(ctx, subject, sequence); err != nil {
			return err
		}
		n.mu.Lock()
		delete(n.removed, subject)
		n.mu.Unlock()
	}
}

// purgeSubject removes from the log what was said about something before its removal; 0: the log has nothing about it.
func (n *Node) purgeSubject(ctx context.Context, subject string, before uint64) error {
	if before == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	positions, err := n.store.PositionSubjects(ctx, subject)
	for i := 0; i < len(positions) && err == nil; i++ {
		err = n.log.Purge(ctx, positions[i], before) // the newest message of all must stay, because nodes wait for it
	}
	if err != nil {
		return err
	}
	return n.log.Purge(ctx, subject, before)
}

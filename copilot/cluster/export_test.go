package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/copilot-portal/portal/copilot/store"
)

// Encode returns a change as a message.
func Encode(ctx context.Context, l Log, c store.Change) ([]byte, error) {
	return (&Node{log: l}).encode(ctx, c)
}

// Decode returns the change of a message.
func Decode(ctx context.Context, l Log, data []byte) (store.Change, error) {
	return (&Node{log: l}).decode(ctx, data)
}

// HasApplied reports whether the store has the messages up to a sequence.
func (n *Node) HasApplied(sequence uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.applied >= sequence
}

// Progress describes what the node ships.
func (n *Node) Progress() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var b strings.Builder
	for s, p := range n.progress {
		fmt.Fprintf(&b, " %s:%+v", s, *p)
	}
	return b.String()
}

// StartReading starts to work in the cluster, but ships nothing.
func (n *Node) StartReading(ctx context.Context) {
	n.applies, n.state = func([]string) {}, func() State { return State{} }
	ctx, n.stop = context.WithCancel(ctx)
	n.work.Go(func() { n.regularly(ctx, n.announce) })
	n.work.Go(func() { n.repeat(ctx, "read the log", n.follow) })
}

// ShipLate ships the changes of a subject, and calls meanwhile between the answer of the log and the end of the shipping.
func (n *Node) ShipLate(ctx context.Context, subject string, meanwhile func()) error {
	n.update(func() { n.progressOf(subject).state = sending })
	_, err := n.shipChange(ctx, subject)
	meanwhile()
	n.finishShipping(subject)
	return err
}

// AwaitNumber returns when the log has the entries of a subject up to a number.
func (n *Node) AwaitNumber(ctx context.Context, subject string, number uint64) {
	_ = n.await(ctx, func() bool { p := n.progress[subject]; return p != nil && p.number >= number })
}

// AwaitApplied returns when the store has the messages up to a sequence.
func (n *Node) AwaitApplied(ctx context.Context, sequence uint64) {
	_ = n.await(ctx, func() bool { return n.applied >= sequence })
}

// Sweep deletes the objects that nobody needs.
func Sweep(ctx context.Context, n *Node) { n.sweep(ctx) }

// Calls remembers the calls to a process.
type Calls = calls

// NewCalls returns calls of which there are none.
func NewCalls() *Calls { return &calls{known: map[string]*call{}} }

// Begin returns what ends a call and what waits for its answer, and whether it is new.
func (s *calls) Begin(ctx context.Context, id string) (end func(answer []byte), wait func() []byte, first bool) {
	c, first := s.begin(id)
	return func(answer []byte) { s.end(c, answer) }, func() []byte { return s.wait(ctx, c) }, first
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// progress is how far the log has a subject, which the store knows only after it has read that back.
type progress struct {
	state   shipping
	known   bool   // the fields below are valid
	newest  uint64 // sequence of its newest message
	number  uint64 // last entry that the log has
	version uint64 // of the store that the log has
}

// shipping says what happens to the changes of a subject.
type shipping int

const (
	shipped   shipping = iota // the log has all of them
	waiting                   // some wait
	sending                   // they are being sent
	resending                 // they are being sent, and more wait
	contested                 // another node has changed the subject: nothing is sent before that is applied
)

// appendTime limits an attempt to append. A new leader of the log takes up to six seconds.
const appendTime = 8 * time.Second

// maxSending is the maximum number of subjects that are sent at the same time.
const maxSending = 64

// Written implements [store.Cluster].
func (n *Node) Written(subjects ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range subjects {
		p := n.progressOf(s)
		switch p.state {
		case shipped:
			p.state = waiting
		case sending:
			p.state = resending
		default:
		}
	}
	signal(n.wake)
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// progressOf returns the progress of a subject. The caller must hold the lock.
func (n *Node) progressOf(subject string) *progress {
	p := n.subject[subject]
	if p == nil {
		p = &progress{}
		n.subject[subject] = p
	}
	return p
}

// ship sends the changes of each subject, one after the other, and those of different subjects side by side.
func (n *Node) ship(ctx context.Context) {
	var work sync.WaitGroup
	defer work.Wait()
	slots := make(chan struct{}, maxSending)
	for {
		select {
		case <-n.wake:
		case <-ctx.Done():
			return
		}
		for _, subject := range n.takeWaiting() {
			select {
			case slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			work.Go(func() {
				defer func() { <-slots }()
				n.shipSubject(ctx, subject)
			})
		}
	}
}

func (n *Node) takeWaiting() (list []string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for s, p := range n.subject {
		if p.state == waiting {
			p.state = sending
			list = append(list, s)
		}
	}
	slices.Sort(list)
	return list
}

// shipSubject sends the changes of a subject until the log has all of them or another node has changed it.
func (n *Node) shipSubject(ctx context.Context, subject string) {
	pause := firstPause
	for ctx.Err() == nil {
		more, err := n.shipChange(ctx, subject)
		switch {
		case errors.Is(err, ErrConflict):
			n.finishShipping(subject, contested)
			return
		case err != nil:
			n.options.Log.Warn("a change waits for the cluster's log", "subject", subject, "error", err)
			select {
			case <-time.After(pause):
			case <-ctx.Done():
			}
			pause = min(2*pause, maxPause)
		case !more && n.finishShipping(subject, shipped):
			return
		}
	}
}

// finishShipping ends the sending of a subject, unless more changes wait and they may be sent.
func (n *Node) finishShipping(subject string, to shipping) (done bool) {
	n.update(func() {
		p := n.subject[subject]
		if done = to == contested || p.state != resending; done {
			p.state = to
		} else {
			p.state = sending
		}
	})
	return done
}

// shipChange sends one change of a subject. more is true if it was not the last one.
func (n *Node) shipChange(ctx context.Context, subject string) (more bool, err error) {
	at, err := n.position(ctx, subject)
	if err != nil {
		return false, err
	}
	c, err := n.store.Change(ctx, subject, at.number)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil // its removal is in the log already
	case err != nil:
		return false, err
	case c.Version <= at.version && !c.More && c.Last <= at.number:
		return false, nil
	}
	if c.More { // the rest belongs to this version
		c.Version = at.version
	}
	expect := at.newest
	if isRow(subject) {
		expect = Any
	}
	_, err = n.append(ctx, c, expect)
	return c.More, err
}

// isRow reports whether any node may change a subject, which is shared as a whole.
func isRow(subject string) bool {
	return strings.HasPrefix(subject, "visitor/") || strings.HasPrefix(subject, "share/") || strings.HasPrefix(subject, "position/")
}

// position returns how far the log has a subject.
func (n *Node) position(ctx context.Context, subject string) (progress, error) {
	x, err := n.store.Shared(ctx, subject)
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.progressOf(subject)
	if err == nil && (!p.known || x.Sequence > p.newest) {
		p.known, p.newest, p.number, p.version = true, x.Sequence, x.Number, x.Shipped
	}
	return *p, err
}

// append appends a change.
func (n *Node) append(ctx context.Context, c store.Change, expect uint64) (sequence uint64, err error) {
	c.Node = n.options.Node
	data, err := n.encode(ctx, c)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	id := fmt.Sprintf("%s %s %d %d %d", n.process, c.Subject, expect, c.Version, c.Last)
	sequence, err = n.log.Append(ctx, c.Subject, expect, id, data)
	n.update(func() {
		n.reached = err == nil || errors.Is(err, ErrConflict)
		if errors.Is(err, ErrConflict) {
			n.counts.Conflicts++
		}
		if err != nil {
			return
		}
		n.counts.Published++
		p := n.progressOf(c.Subject)
		p.known, p.newest, p.number, p.version = true, sequence, max(p.number, c.Last), max(p.version, c.Version)
	})
	return sequence, err
}

// Claim implements [store.Cluster].
func (n *Node) Claim(ctx context.Context, c store.Change) (sequence uint64, err error) {
	n.mu.Lock()
	p := n.progressOf(c.Subject)
	pending := p.state != shipped
	if pending && p.state == waiting {
		signal(n.wake)
	}
	behind := p.known && p.newest > c.Expect
	n.mu.Unlock()
	if pending || behind {
		return 0, store.ErrChanged
	}
	sequence, err = n.append(ctx, c, c.Expect)
	switch {
	case errors.Is(err, ErrConflict):
		return 0, store.ErrChanged
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	n.update(func() { n.counts.Claims++ })
	return sequence, nil
}

// Await implements [store.Cluster].
func (n *Node) Await(ctx context.Context, subject string, version uint64) {
	_ = n.await(ctx, func() bool {
		p := n.progressOf(subject)
		return p.known && p.version >= version || p.state == contested || !n.reached
	})
}

// awaitShipped returns when the log has everything, or cannot be reached.
func (n *Node) awaitShipped(ctx context.Context) {
	_ = n.await(ctx, func() bool {
		for _, p := range n.subject {
			if p.state != shipped && p.state != contested {
				return !n.reached
			}
		}
		return true
	})
}

package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

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
	contested                 // another message about the subject is newer: nothing is sent before that is applied
)

// maxSending is the maximum number of subjects that are sent at the same time.
const maxSending = 64

// Written implements [store.Cluster].
func (n *Node) Written(subjects ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, s := range subjects {
		n.noteChange(s)
	}
}

// noteChange notes that the log lacks a change of a subject. The caller must hold the lock.
func (n *Node) noteChange(subject string) {
	switch p := n.progressOf(subject); p.state {
	case shipped:
		n.wait(subject, p)
	case sending:
		p.state = resending
	case waiting, resending, contested:
	}
}

// wait lets a subject wait to be sent. The caller must hold the lock.
func (n *Node) wait(subject string, p *progress) {
	p.state = waiting
	n.queue = append(n.queue, subject)
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
	p := n.progress[subject]
	if p == nil {
		p = &progress{}
		n.progress[subject] = p
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

// takeWaiting returns the subjects that wait, which are being sent from now on.
func (n *Node) takeWaiting() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.queue
	n.queue = nil
	for _, s := range list {
		n.progress[s].state = sending
	}
	return list
}

// shipSubject sends the changes of a subject until the log has all of them or another message about it is newer.
func (n *Node) shipSubject(ctx context.Context, subject string) {
	pause, level := pauses{}, slog.LevelWarn
	for ctx.Err() == nil {
		more, err := n.shipChange(ctx, subject)
		if errors.Is(err, ErrConflict) {
			if err = n.contest(ctx, subject); err == nil {
				return
			}
		}
		switch {
		case err != nil:
			n.options.Log.Log(ctx, level, "a change waits for the cluster's log", "subject", subject, "error", err)
			level = slog.LevelDebug // until all are sent
			pause.wait(ctx)
		case !more && n.finishShipping(subject):
			return
		}
	}
}

// finishShipping ends the sending of a subject, unless more changes wait.
func (n *Node) finishShipping(subject string) (done bool) {
	n.update(func() {
		p := n.progressOf(subject)
		if done = p.state != resending; done {
			p.state = shipped
		} else {
			p.state = sending
		}
	})
	return done
}

// contest waits for the newest message about a subject, which noteApplied sees, unless the store has it already.
func (n *Node) contest(ctx context.Context, subject string) error {
	var sent uint64
	n.update(func() {
		p := n.progressOf(subject)
		p.state, sent = contested, p.newest
	})
	x, err := n.store.Progress(ctx, subject)
	n.update(func() {
		p := n.progressOf(subject)
		switch {
		case p.state != contested:
		case err != nil:
			p.state = resending
		case x.Sequence > sent:
			p.known = false
			n.wait(subject, p)
		}
	})
	return err
}

// shipChange sends one change of a subject. more is true if it was not the last one.
func (n *Node) shipChange(ctx context.Context, subject string) (more bool, err error) {
	if delayed, err := n.isDelayed(ctx, subject); delayed || err != nil {
		return false, err
	}
	at, err := n.position(ctx, subject)
	if err != nil {
		return false, err
	}
	c, err := n.store.Change(ctx, subject, at.version, at.number)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil // its removal is in the log already
	case err != nil:
		return false, err
	case c.Version <= at.version && !c.More:
		return false, nil
	}
	expect := at.newest
	if store.IsRow(subject) {
		expect = Any
	}
	sequence, err := n.append(ctx, c, expect, fmt.Sprintf("%s %s %d %d %d", n.process, subject, expect, c.Version, c.Last))
	if err != nil {
		return false, err
	}
	n.update(func() {
		p := n.progressOf(subject)
		p.known, p.newest, p.number, p.version = true, sequence, max(p.number, c.Last), max(p.version, c.Version)
		n.releaseDelayed(subject)
	})
	n.store.Shipped(subject, c.Version)
	return c.More, nil
}

// isDelayed reports whether a subject is a position in a session that the log does not have yet. The others would drop it, so
// it waits for the session.
func (n *Node) isDelayed(ctx context.Context, subject string) (bool, error) {
	session := store.SessionOf(subject)
	if session == "" {
		return false, nil
	}
	n.update(func() { n.delayed[session] = append(n.delayed[session], subject) })
	x, err := n.store.Progress(ctx, session)
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.progress[session]
	if err == nil && x.Sequence == 0 && (p == nil || p.newest == 0) && n.delayed[session] != nil {
		return true, nil
	}
	n.delayed[session] = slices.DeleteFunc(n.delayed[session], func(s string) bool { return s == subject })
	if len(n.delayed[session]) == 0 {
		delete(n.delayed, session)
	}
	return false, err
}

// releaseDelayed lets the positions in a session be sent. The caller must hold the lock.
func (n *Node) releaseDelayed(session string) {
	for _, s := range n.delayed[session] {
		n.noteChange(s)
	}
	delete(n.delayed, session)
}

// position returns how far the log has a subject.
func (n *Node) position(ctx context.Context, subject string) (progress, error) {
	n.mu.Lock()
	p := *n.progressOf(subject)
	n.mu.Unlock()
	if p.known {
		return p, nil
	}
	x, err := n.store.Progress(ctx, subject)
	if err != nil {
		return p, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now := n.progressOf(subject)
	if !now.known || x.Sequence > now.newest {
		now.known, now.newest, now.number, now.version = true, x.Sequence, x.Number, x.Shipped
	}
	return *now, nil
}

// append appends a change.
func (n *Node) append(ctx context.Context, c store.Change, expect uint64, id string) (sequence uint64, err error) {
	c.Node = n.options.Node
	data, err := n.encode(ctx, c)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, appendTime)
	defer cancel()
	sequence, err = n.log.Append(ctx, c.Subject, expect, id, data)
	n.update(func() {
		n.reached = err == nil || errors.Is(err, ErrConflict)
		switch {
		case err == nil:
			n.counts.Published++
		case errors.Is(err, ErrConflict):
			n.counts.Conflicts++
		}
	})
	return sequence, err
}

// Claim implements [store.Cluster].
func (n *Node) Claim(ctx context.Context, c store.Change) (sequence uint64, err error) {
	n.mu.Lock()
	p := n.progressOf(c.Subject)
	pending := p.state != shipped
	behind := p.known && p.newest > c.Expect
	n.mu.Unlock()
	if pending || behind {
		return 0, store.ErrChanged
	}
	sequence, err = n.append(ctx, c, c.Expect, n.process+" "+uuid.NewString()) // each claim is one attempt
	switch {
	case errors.Is(err, ErrConflict):
		return 0, store.ErrChanged
	case err != nil:
		return 0, fmt.Errorf("%w: %w", errUnreachable, err)
	}
	n.update(func() {
		n.counts.Claims++
		if p := n.progressOf(c.Subject); sequence > p.newest {
			p.known, p.newest, p.number, p.version = true, sequence, c.Last, 0
		}
	})
	return sequence, nil
}

// Await implements [store.Cluster]. While the servers of the log choose a leader it waits, because another node must not continue with
// less than a client has seen; once the others may take this node for gone, it fails.
func (n *Node) Await(ctx context.Context, subject string, version uint64) error {
	for {
		n.mu.Lock()
		p, changed := n.progress[subject], n.changed
		left := time.Until(n.valid)
		done, isIdle := p.has(version), p.isIdle()
		n.mu.Unlock()
		switch {
		case done:
			return nil
		case left <= 0:
			return errUnreachable
		case isIdle:
			if done, err := n.isShipped(ctx, subject, version); done || err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-time.After(left):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isShipped reports whether the store has read back that the log has a version.
func (n *Node) isShipped(ctx context.Context, subject string, version uint64) (bool, error) {
	x, err := n.store.Progress(ctx, subject)
	if err == nil && x.Version < version {
		err = errNotKept
	}
	return x.Shipped >= version, err
}

// errNotKept reports that the store lost a change, with its file, before the log had it.
var errNotKept = errors.New("the change is lost: the file was replaced")

// has reports whether the log has a version, or will not get it.
func (p *progress) has(version uint64) bool {
	return p != nil && (p.state == contested || p.known && p.version >= version)
}

// isIdle reports whether nothing is being sent. While something is, only the answer to Append counts: a node may read a message before the
// server that leads has stored it, and others that catch up ask that one.
func (p *progress) isIdle() bool { return p == nil || p.state == shipped }

// awaitShipped returns when the log has everything, or cannot be reached.
func (n *Node) awaitShipped(ctx context.Context) {
	_ = n.await(ctx, func() bool {
		for _, p := range n.progress {
			if p.state != shipped && p.state != contested {
				return !n.reached
			}
		}
		return true
	})
}

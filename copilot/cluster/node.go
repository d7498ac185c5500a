package cluster

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/store"
)

// Options configures a [Node]. Name and Node are required.
type Options struct {
	Name  string        // of the cluster
	Node  string        // of this machine; no other one may have it
	Lease time.Duration // how long a member may be silent; default 10 s
	Log   *slog.Logger  // nil: none

	// Needs reports whether a session needs an object; nil: it needs all.
	Needs func(head store.Session, object string) bool
}

// Node is this portal in a cluster. It implements [store.Cluster]. Its methods may be called concurrently. The caller must
// let it join with a store, start it, and close it before the store.
type Node struct {
	options Options
	log     Log
	store   *store.Store
	process string
	applies func(sessions []string)
	state   func() State

	stop        context.CancelFunc
	work        sync.WaitGroup
	wake, purge chan struct{} // hold one signal each: something is to be shipped, or purged

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when anything below changes
	members map[string]*member
	hearing hearing

	progress map[string]*progress // by subject

	queue   []string            // subjects that wait to be sent
	removed map[string]uint64   // subjects whose messages before a sequence are to be purged
	delayed map[string][]string // positions, by the subjects of sessions that the log does not have yet
	calls   calls
	applied uint64    // newest sequence that the store has
	newest  uint64    // sequence of the log, a while ago
	valid   time.Time // until then the others take this node for alive; zero before it has joined
	reached bool      // the log answered last time

	catchingUp int // calls of CatchUp that wait for the store

	caughtUp bool // it has applied what the log had when it started
	counts   Counts
}

// New returns a node that has no store yet.
func New(log Log, o Options) *Node {
	o.Lease = cmp.Or(o.Lease, 10*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Node{
		options: o, log: log, wake: make(chan struct{}, 1), purge: make(chan struct{}, 1), changed: make(chan struct{}),
		members: map[string]*member{}, progress: map[string]*progress{}, removed: map[string]uint64{}, delayed: map[string][]string{}, calls: calls{known: map[string]*call{}},
	}
}

// startTime limits how long a start waits for the log.
const startTime = 5 * time.Second

// Join makes a store, which was opened with this node, a part of the cluster. It fails if the store belongs to another cluster or node.
func (n *Node) Join(ctx context.Context, s *store.Store) error {
	n.store, n.process = s, s.Name()
	_, err := n.join(ctx)
	return err
}

// join makes the file of the store a part of the cluster, which it is already unless it was replaced. It returns the newest sequence of
// the log that is applied.
func (n *Node) join(ctx context.Context) (applied uint64, err error) {
	if applied, err = n.store.Join(ctx, n.options.Name, n.options.Node); err != nil {
		return 0, err
	}
	list, err := n.store.Unshared(ctx)
	if err != nil {
		return 0, err
	}
	n.Written(list...)
	n.update(func() {
		n.caughtUp = n.caughtUp && applied >= n.applied
		n.applied = applied
	})
	return applied, nil
}

// Start starts to work in the cluster. It returns when the store has caught up with the log, or when that takes too long: the node then goes
// on in the background. It calls applied with the sessions that other nodes have changed, and state to describe this node to them;
// neither must wait.
func (n *Node) Start(ctx context.Context, applied func(sessions []string), state func() State) {
	n.applies, n.state = applied, state
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	n.stop = stop
	n.work.Go(func() { n.regularly(running, n.announce) })
	n.work.Go(func() { n.regularly(running, n.measureLag) })
	n.work.Go(func() { n.repeat(running, "watch the other nodes", n.watch) })
	n.work.Go(func() { n.repeat(running, "read the log", n.follow) })
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	_ = n.CatchUp(ctx)
	n.work.Go(func() { n.ship(running) })
	n.work.Go(func() { n.repeat(running, "purge the log", n.purgeRemoved) })
	n.work.Go(func() { every(running, sweepEvery, n.sweep) })
}

// closeTime limits how long Close waits for the log.
const closeTime = time.Second

// Close ships what is left, if the log can be reached, and leaves the cluster.
func (n *Node) Close() {
	if n.stop == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	n.awaitShipped(ctx)
	n.stop()
	n.work.Wait()
	_ = n.log.Announce(ctx, n.process, nil) // otherwise the others notice later
}

// Pause after a failure of the log.
const (
	firstPause = 100 * time.Millisecond
	maxPause   = 2 * time.Second
)

// repeat repeats do until ctx ends, with a pause after each failure. It reports the first one after do has worked for a while.
func (n *Node) repeat(ctx context.Context, what string, do func(context.Context) error) {
	pause, level := pauses{}, slog.LevelWarn
	for ctx.Err() == nil {
		began := time.Now()
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > maxPause {
			pause = pauses{}
		}
		if time.Since(began) > 2*appendTime { // longer than an attempt to reach the log
			level = slog.LevelWarn
		}
		n.options.Log.Log(ctx, level, "cannot "+what, "error", err)
		level = slog.LevelDebug
		pause.wait(ctx)
	}
}

// errStuck reports that nothing arrives although the log answers.
var errStuck = errors.New("nothing arrives")

// untilStuck runs do, which returns when its context ends, until it seems to be stuck.
func (n *Node) untilStuck(ctx context.Context, isStuck func(context.Context) bool, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		every := time.NewTicker(n.options.Lease)
		defer every.Stop()
		for {
			select {
			case <-every.C:
			case <-ctx.Done():
				return
			}
			if isStuck(ctx) {
				cancel(errStuck)
			}
		}
	})
	defer watching.Wait()
	defer cancel(nil)
	if err := do(ctx); !errors.Is(context.Cause(ctx), errStuck) {
		return err
	}
	return errStuck
}

// pauses are pauses between attempts, each longer than the one before.
type pauses struct{ last time.Duration }

func (p *pauses) wait(ctx context.Context) {
	p.last = min(max(2*p.last, firstPause), maxPause)
	select {
	case <-time.After(p.last):
	case <-ctx.Done():
	}
}

// update changes the fields that the lock protects, and wakes those who wait for a change.
func (n *Node) update(do func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	do()
	close(n.changed)
	n.changed = make(chan struct{})
}

// await returns nil when ready returns true, which is called with the lock.
func (n *Node) await(ctx context.Context, ready func() bool) error {
	for {
		n.mu.Lock()
		ok, changed := ready(), n.changed
		n.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// appendTime limits an attempt to append. A new leader of the log takes up to six seconds.
const appendTime = 8 * time.Second

// CatchUp implements [store.Cluster].
func (n *Node) CatchUp(ctx context.Context) error {
	if n.isCutOff() {
		return errUnreachable
	}
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	last, err := n.log.Last(ctx)
	for ; err != nil || last == 0 && n.hasApplied(); last, err = n.log.Last(ctx) { // the servers may be starting or choosing a leader
		if n.Accepting() != nil { // the others may go on without this node
			return errUnreachable
		}
		select {
		case <-time.After(firstPause):
		case <-ctx.Done():
			return errUnreachable
		}
	}
	n.mu.Lock()
	isBehind := n.applied < last
	if isBehind {
		n.catchingUp++
	}
	n.mu.Unlock()
	if !isBehind {
		return nil
	}
	defer func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.catchingUp--
	}()
	n.store.Hurry()
	return n.await(ctx, func() bool { return n.applied >= last })
}

// isCutOff reports whether the others may take this node for gone, which was alive before.
func (n *Node) isCutOff() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.valid.IsZero() && !time.Now().Before(n.valid)
}

// hasApplied reports whether the log has ever had a message.
func (n *Node) hasApplied() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.applied > 0
}

// catchUpTime limits how long a node waits for its own store.
const catchUpTime = 5 * time.Second

// errUnreachable reports that the log cannot be reached.
var errUnreachable = errors.New("the cluster's log cannot be reached")

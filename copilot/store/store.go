package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"
)

// Options configures a store. Zero values select the defaults.
type Options struct {
	Directory string        // created if missing, for this user only; must be on a local disk
	Delay     time.Duration // maximum delay of a group; default 20 ms. In a cluster it depends on how many sessions are written
	Memory    int           // bytes that may wait to be written; default 64 MiB
	MaxBytes  int64         // maximum size of the file; default unlimited
	MaxEntry  int           // maximum size of an entry or a text, in bytes; default [MaxEntry]
	Busy      time.Duration // how long to wait for locks of other processes; default 5 s
	Heartbeat time.Duration // interval of heartbeats, default 2 s; see [Store.Acquire]
	Log       *slog.Logger  // default: no log
	Cluster   Cluster       // nil: none
}

func (o Options) file() string { return filepath.Join(o.Directory, "sessions.db") }

func (o Options) withDefaults() (Options, error) {
	directory, err := filepath.Abs(o.Directory)
	if err != nil || o.Directory == "" {
		return o, fmt.Errorf("a store needs a directory: %q", o.Directory)
	}
	o.Directory = directory
	o.Delay = cmp.Or(max(o.Delay, 0), 20*time.Millisecond)
	o.Memory = cmp.Or(max(o.Memory, 0), 64<<20)
	o.MaxEntry = cmp.Or(max(o.MaxEntry, 0), MaxEntry)
	o.Busy = cmp.Or(max(o.Busy, 0), 5*time.Second)
	o.Heartbeat = cmp.Or(max(o.Heartbeat, 0), 2*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o, nil
}

// Store is an open data directory. All methods may be called concurrently. The caller must close it.
type Store struct {
	options Options
	self    owner
	read    atomic.Pointer[sql.DB]
	bytes   atomic.Int64 // queued and not yet written
	recent  recent

	firstVersion int64 // of the changes in this file: later than those in all files before, also of processes before, on this directory or a lost one

	failing, moved, clock atomic.Pointer[Failure]

	wake, urgent  chan struct{} // each holds one signal
	damage        chan error    // what a reader has found; holds one error
	closing, done chan struct{}
	end           error // valid once done is closed

	mu       sync.Mutex
	dirty    []*Lease
	marks    map[mark]uint64 // positions in sessions that this process does not hold
	requests []*request
	closed   bool
	killed   bool // closed by Kill
}

// Open opens or creates the file of the directory. It moves a damaged file aside, and opens a file that cannot be
// written (also because the disk is full or another process locks it), or belongs to a node of a cluster, for reading until
// it can be written; [Store.Failure] reports all that. It returns any other [Failure].
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, self: self(), recent: recent{pieces: map[string][]piece{}},
		wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1), damage: make(chan error, 1),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	w := &writer{Store: s, leases: map[string]*Lease{}, begun: map[activity]struct{}{}, seen: map[int64]heartbeatSeen{}}
	if err := w.open(ctx, false); err != nil {
		if err := w.openReadOnly(ctx, err); err != nil {
			return nil, err
		}
	} else if err := w.checkCluster(ctx); err != nil {
		w.retryLater(err)
	}
	go w.run(context.WithoutCancel(ctx))
	return s, nil
}

// self returns this process as an owner.
func self() owner {
	var key [8]byte
	_, _ = rand.Read(key[:])
	return owner{
		key: int64(binary.LittleEndian.Uint64(key[:]) >> 1),
		pid: os.Getpid(), start: started(os.Getpid()), host: host(),
	}
}

// Close writes the queued data, releases all sessions and closes the file. It tries for about [Options.Busy] and
// reports what it could not write. Later calls return the same. Ending the process meanwhile has the effect of killing
// it.
func (s *Store) Close() error { return s.stop(false) }

// Kill closes the store as a kill of its process would: it discards unwritten data and releases nothing, and a dead
// process holds the sessions. It is for tests that run several processes in one.
func (s *Store) Kill() error { return s.stop(true) }

func (s *Store) stop(killed bool) error {
	s.mu.Lock()
	if !s.closed {
		s.closed, s.killed = true, killed
		close(s.closing)
	}
	s.mu.Unlock()
	<-s.done
	return s.end
}

// Flush returns when all data queued before is durable, or an error.
func (s *Store) Flush(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error { return w.flush(ctx) })
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// request is work that the writer does while the caller waits.
type request struct {
	run     func(context.Context, *writer) error
	started atomic.Bool // by the writer, or abandoned by the caller
	done    chan error
}

// do runs a function on the writer's goroutine and waits for it. It does not start the function once ctx has ended, and
// does not abandon it once started.
func (s *Store) do(ctx context.Context, run func(context.Context, *writer) error) error {
	return s.request(ctx, s.urgent, run)
}

// request is do. The signal decides when the function runs: urgent at once, wake after the pause between two groups.
func (s *Store) request(ctx context.Context, when chan struct{}, run func(context.Context, *writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r := &request{run: run, done: make(chan error, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.requests = append(s.requests, r)
	s.mu.Unlock()
	signal(when)
	select {
	case err := <-r.done:
		return s.options.failure(err)
	case <-ctx.Done():
		if r.started.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return s.options.failure(<-r.done)
	}
}

// ask is do for functions with a result.
func ask[T any](ctx context.Context, s *Store, run func(context.Context, *writer) (T, error)) (result T, err error) {
	err = s.do(ctx, func(ctx context.Context, w *writer) (err error) {
		result, err = run(ctx, w)
		return err
	})
	return result, err
}

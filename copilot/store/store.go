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

// Options say where to store and how. Zero values mean the defaults.
type Options struct {
	Directory string        // made if it is missing, for this user alone; must be on a local disk
	Delay     time.Duration // how late a group is written at most; default 20 ms
	Memory    int           // bytes that may wait to be written; default 64 MiB
	MaxBytes  int64         // the file becomes no larger; default unlimited
	Busy      time.Duration // how long to wait for other processes' locks; default 5 s
	Heartbeat time.Duration // how often owners say that they live; default 2 s, five missed ones count as death
	Log       *slog.Logger  // default: nothing is logged
}

func (o Options) file() string { return filepath.Join(o.Directory, "sessions.db") }

func (o Options) filled() (Options, error) {
	directory, err := filepath.Abs(o.Directory)
	if err != nil || o.Directory == "" {
		return o, fmt.Errorf("a store needs a directory: %q", o.Directory)
	}
	o.Directory = directory
	o.Delay = cmp.Or(max(o.Delay, 0), 20*time.Millisecond)
	o.Memory = cmp.Or(max(o.Memory, 0), 64<<20)
	o.Busy = cmp.Or(max(o.Busy, 0), 5*time.Second)
	o.Heartbeat = cmp.Or(max(o.Heartbeat, 0), 2*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o, nil
}

// Store is an open data directory. All methods may be called concurrently. Whoever opened it closes it.
type Store struct {
	options Options
	self    owner
	read    atomic.Pointer[sql.DB]
	bytes   atomic.Int64 // handed over and not yet written

	failing, moved, clock atomic.Pointer[Failure]

	wake, urgent  chan struct{} // hold one signal each
	closing, done chan struct{}
	end           error // valid once done is closed

	mu     sync.Mutex
	dirty  []*Lease
	marks  map[mark]uint64 // positions in sessions that nobody holds here
	orders []*request
	closed bool
	killed bool // closed by Kill
}

// Open opens the directory's file, or makes it. A damaged file is moved aside, and one that cannot be written is only
// read until it can be; [Store.Failure] tells both. Any other [Failure] is returned.
func Open(ctx context.Context, o Options) (*Store, error) {
	o, err := o.filled()
	if err != nil {
		return nil, err
	}
	s := &Store{
		options: o, self: self(),
		wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1),
		closing: make(chan struct{}), done: make(chan struct{}),
	}
	w := &writer{Store: s, leases: map[string]*Lease{}, begun: map[activity]struct{}{}, seen: map[int64]heartbeatSeen{}}
	if err := w.open(ctx, false); err != nil {
		if err := w.openReadOnly(ctx, err); err != nil {
			return nil, err
		}
	}
	go w.run(context.WithoutCancel(ctx))
	return s, nil
}

// self makes the owner that this store is to the others.
func self() owner {
	var key [8]byte
	_, _ = rand.Read(key[:])
	return owner{
		key: int64(binary.LittleEndian.Uint64(key[:]) >> 1),
		pid: os.Getpid(), start: started(os.Getpid()), host: host(),
	}
}

// Close writes what was handed over, gives all sessions back and closes the file. If something could not be written, it
// says so; it tries for about [Options.Busy], after what is being tried just then. Later calls return the same. Who has
// no time for that may end the process meanwhile: it is as if it had been killed.
func (s *Store) Close() error { return s.stop(false) }

// Kill ends the store at once, as a kill would end its process: what was not yet written never is, nothing is given
// back, and whoever looks finds the sessions held by a process that is no more. It is for tests that play several
// processes in one. The error says why the others could not be told.
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

// Flush returns when everything that was handed over before is durable, or with what keeps it from being so.
func (s *Store) Flush(ctx context.Context) error {
	return s.do(ctx, func(ctx context.Context, w *writer) error { return w.flush(ctx) })
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// request is something that the writer does for a caller who waits.
type request struct {
	run     func(context.Context, *writer) error
	started atomic.Bool // by the writer, or given up by the caller
	done    chan error
}

// do lets the writer do something and waits for it. Once begun, it is not given up; it is not begun for a context that
// has ended.
func (s *Store) do(ctx context.Context, run func(context.Context, *writer) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := &request{run: run, done: make(chan error, 1)}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.orders = append(s.orders, o)
	s.mu.Unlock()
	signal(s.urgent)
	select {
	case err := <-o.done:
		return s.options.failure(err)
	case <-ctx.Done():
		if o.started.CompareAndSwap(false, true) {
			return ctx.Err()
		}
		return s.options.failure(<-o.done)
	}
}

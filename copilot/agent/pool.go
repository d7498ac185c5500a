package agent

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// PoolOptions are the limits of a [Pool]. Zero fields take the defaults named.
type PoolOptions struct {
	Size         int           // processes at most; 1
	PerProcess   int           // sessions a process takes before a further one starts; 50
	Linger       time.Duration // how long a process without sessions stays; 10 s, negative: not at all
	StartTimeout time.Duration // for one start; 10 s
	PingEvery    time.Duration // how often a process is asked whether it lives; 5 s
	SilenceLimit time.Duration // how long it may not answer; 10 s, longer while it computes
	MemoryLimit  int64         // beyond it and what its sessions need a process is replaced when it is at rest, in bytes; 1 GiB, negative: none
	MinAge       time.Duration // until it may be replaced for its size; 5 min, negative: at once
	Log          *slog.Logger  // nil: none
}

func (o PoolOptions) withDefaults() PoolOptions {
	o.Size = max(o.Size, 1)
	if o.PerProcess <= 0 {
		o.PerProcess = 50
	}
	if o.Linger == 0 {
		o.Linger = 10 * time.Second
	}
	if o.StartTimeout <= 0 {
		o.StartTimeout = 10 * time.Second
	}
	return o.withWatchDefaults()
}

// Pool shares agent processes among sessions: the first lease starts one, and
// some time after the last was released it is stopped. Its methods may be
// called concurrently.
type Pool struct {
	launch     LaunchIn
	divided    bool // each directory has processes of its own
	options    PoolOptions
	goroutines sync.WaitGroup

	counts  counts
	mu      sync.Mutex
	members []*member
	closed  bool
}

// member is one process of a pool, from the decision to start it.
type member struct {
	ready     chan struct{}      // closed when the start has ended, well or not
	cancel    context.CancelFunc // gives the start up
	agent     Agent              // set before ready, nil if the start failed
	since     time.Time          // the start; set with agent
	err       error
	leases    int
	directory string      // whose sessions it takes, in a divided pool
	linger    *time.Timer // running while there are no leases

	suspect chan struct{} // holds a token when somebody doubts that it lives
	retired chan struct{} // closed when it is to be replaced
}

// NewPool makes a pool that starts its processes with launch. Close ends it.
func NewPool(launch Launch, o PoolOptions) *Pool {
	return newPool(func(ctx context.Context, _ string) (Agent, error) { return launch(ctx) }, false, o)
}

func newPool(launch LaunchIn, divided bool, o PoolOptions) *Pool {
	p := &Pool{divided: divided, options: o.withDefaults()}
	p.launch = p.counts.launch(launch)
	return p
}

// Divided reports whether each directory has processes of its own.
func (p *Pool) Divided() bool { return p.divided }

// NewDividedPool makes a pool whose processes are each for one directory, as in a
// sandbox: Size holds for each directory, and [MaxDirectories] for all.
func NewDividedPool(launch LaunchIn, o PoolOptions) *Pool {
	return newPool(launch, true, o)
}

// MaxDirectories is for how many directories a divided pool has processes at once: a
// process takes about 170 MB.
const MaxDirectories = 20

// Lease is the right to use an agent; Release returns it.
type Lease struct {
	Agent   Agent
	Release func()          // may be called more than once
	Suspect func()          // makes the pool look at once whether the agent still answers
	Retired <-chan struct{} // closed when the agent is to be replaced: release it when it is at rest
}

// Acquire leases an agent for no directory, which opens no sessions in a divided pool.
func (p *Pool) Acquire(ctx context.Context) (Lease, error) { return p.AcquireIn(ctx, "") }

// AcquireIn leases an agent for the sessions of a directory, starting one if needed.
// Concurrent first calls start one process. A failed start is the error of all who
// waited for it and is not remembered. Kind [fault.Busy]: too many directories are in use.
func (p *Pool) AcquireIn(ctx context.Context, directory string) (Lease, error) {
	if !p.divided {
		directory = ""
	}
	m, err := p.leaseMember(directory)
	if err != nil {
		return Lease{}, err
	}
	release := sync.OnceFunc(func() { p.releaseMember(m) })
	select {
	case <-m.ready:
	case <-ctx.Done():
		release()
		return Lease{}, ctx.Err()
	}
	if m.err != nil {
		release()
		return Lease{}, m.err
	}
	return Lease{Agent: m.agent, Release: release, Suspect: m.checkNow, Retired: m.retired}, nil
}

// leaseMember takes a place on the member that is to be used, a new one if needed.
func (p *Pool) leaseMember(directory string) (*member, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fault.ErrStopping
	}
	m := p.selectMember(directory)
	if m == nil {
		if err := p.checkDirectoryLimit(directory); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), p.options.StartTimeout)
		m = newMember(cancel)
		m.directory = directory
		p.members = append(p.members, m)
		p.goroutines.Go(func() { p.run(ctx, m) })
	}
	if m.linger != nil {
		m.linger.Stop()
		m.linger = nil
	}
	m.leases++
	return m, nil
}

// checkDirectoryLimit refuses a process for one directory more than there may be. Called with the
// lock held.
func (p *Pool) checkDirectoryLimit(directory string) error {
	used := map[string]bool{directory: true}
	for _, m := range p.members {
		used[m.directory] = true
	}
	if len(used) > MaxDirectories+1 { // one is for none
		return fault.Errorf(fault.Busy, "sessions are open in %d directories, each of which needs a process of its own: close some", MaxDirectories)
	}
	return nil
}

// selectMember finds the first member with room, or the emptiest when all are full and
// no further one may start; nil asks for a new one. Those that are retired take
// nobody and leave their place to a successor, but not to a second one: else
// processes that become fat faster than their runs end would fill the machine.
func (p *Pool) selectMember(directory string) *member {
	var usable, retired []*member
	for _, m := range p.members {
		switch {
		case m.dead(), m.directory != directory:
		case IsClosed(m.retired):
			retired = append(retired, m)
		case m.leases < p.options.PerProcess:
			return m
		default:
			usable = append(usable, m)
		}
	}
	size := p.options.Size
	if len(usable) < size && len(usable)+len(retired) < 2*size {
		return nil
	}
	if len(usable) == 0 {
		usable = retired
	}
	return slices.MinFunc(usable, func(a, b *member) int { return a.leases - b.leases })
}

// dead says whether the process has ended but is not forgotten yet.
func (m *member) dead() bool {
	return m.agent != nil && IsClosed(m.agent.Done())
}

// run is the life of a member: start, wait for its end, forget it.
func (p *Pool) run(ctx context.Context, m *member) {
	agent, err := p.launch(ctx, m.directory)
	m.cancel()
	p.started(m, agent, err)
	if err != nil {
		return
	}
	p.watch(m)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(m)
}

func (p *Pool) started(m *member, agent Agent, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.agent, m.since, m.err = agent, time.Now(), err
	if p.closed {
		m.err = fault.ErrStopping // Close stops the agent, if there is one
	}
	close(m.ready)
	if err != nil {
		p.remove(m)
		return
	}
	if m.leases == 0 { // all who waited have gone
		p.stopAfterLinger(m)
	}
}

func (p *Pool) remove(m *member) {
	for i, other := range p.members {
		if other == m {
			p.members = append(p.members[:i], p.members[i+1:]...)
			return
		}
	}
}

func (p *Pool) releaseMember(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	m.leases--
	if m.leases == 0 && m.agent != nil {
		p.stopAfterLinger(m)
	}
}

// stopAfterLinger stops a member without leases after a while, unless it is used
// again. Called with the lock held.
func (p *Pool) stopAfterLinger(m *member) {
	if p.closed || m.dead() {
		return // Close stops it, or nothing is left to stop
	}
	linger := max(p.options.Linger, 0)
	if IsClosed(m.retired) {
		linger = 0
	}
	var timer *time.Timer
	timer = time.AfterFunc(linger, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if m.linger != timer || p.closed { // used again meanwhile, or Close stops it
			return
		}
		p.remove(m) // first, so that nobody joins it
		p.goroutines.Go(func() { stopWithin(m.agent, stopGently) })
	})
	m.linger = timer
}

// stopGently is how long a process gets to end by itself.
const stopGently = time.Second

func stopWithin(a Agent, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	a.Stop(ctx)
}

// Close stops all processes and waits for them; further calls of Acquire fail.
// ctx bounds how long they may end gently.
func (p *Pool) Close(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	for _, m := range p.members {
		m.cancel()
		p.goroutines.Go(func() { // under the lock, as its wait group is not at zero before m is forgotten
			<-m.ready
			if m.agent != nil {
				m.agent.Stop(ctx)
			}
		})
	}
	p.mu.Unlock()
	p.goroutines.Wait()
}

package agent

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
)

// PoolOptions are the limits of a [Pool]. Zero fields have the defaults named.
type PoolOptions struct {
	Size         int           // maximum number of processes; default 1
	PerProcess   int           // sessions per process before another one starts; default 50
	Linger       time.Duration // how long a process without sessions keeps running; default 10 s, negative means not at all
	StartTimeout time.Duration // time limit of a start; default 30 s
	PingEvery    time.Duration // interval of pings; default 5 s
	SilenceLimit time.Duration // how long a process may be silent; default 10 s, longer while it computes
	MemoryLimit  int64         // a process that exceeds it, plus what its sessions need, is replaced when its sessions are idle; in bytes; default 1 GiB, negative means none
	MinAge       time.Duration // age before a process may be replaced for its memory; default 5 min, negative means none
	Log          *slog.Logger  // nil disables logging
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
		o.StartTimeout = 30 * time.Second
	}
	if o.PingEvery <= 0 {
		o.PingEvery = 5 * time.Second
	}
	if o.SilenceLimit <= 0 {
		o.SilenceLimit = 10 * time.Second
	}
	if o.MemoryLimit == 0 {
		o.MemoryLimit = 1 << 30
	}
	if o.MinAge == 0 {
		o.MinAge = 5 * time.Minute
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

// Pool shares agent processes among sessions. The first lease starts a process; some time after the last
// lease is released, the process stops. Pool is safe for concurrent use. The caller must close it.
type Pool struct {
	launch     LaunchIn
	divided    bool // each directory has its own processes
	options    PoolOptions
	goroutines sync.WaitGroup

	mu      sync.Mutex
	members []*member
	stats   Stats
	closed  bool
}

// member is a process of a pool, from the decision to start it.
type member struct {
	ready     chan struct{}      // closed when the start has succeeded or failed
	cancel    context.CancelFunc // cancels the start
	agent     Agent              // set before ready is closed; nil if the start failed
	since     time.Time          // time of the start; set with agent
	err       error
	leases    int
	directory string      // directory of its sessions, in a divided pool
	linger    *time.Timer // runs while there are no leases
	unused    time.Time   // since when linger runs
	stopping  bool        // the pool ends the process, so that its end is no death; guarded by the pool's lock

	suspect chan struct{} // contains a token if someone doubts that the process is alive
	retired chan struct{} // closed when the process should be replaced
}

// NewPool returns a pool that starts its processes with launch. The caller must close it.
func NewPool(launch Launch, o PoolOptions) *Pool {
	return newPool(func(ctx context.Context, _ string) (Agent, error) { return launch(ctx) }, false, o)
}

func newPool(launch LaunchIn, divided bool, o PoolOptions) *Pool {
	return &Pool{launch: launch, divided: divided, options: o.withDefaults()}
}

// Divided reports whether each directory has its own processes.
func (p *Pool) Divided() bool { return p.divided }

// NewDividedPool returns a pool with separate processes for each directory, as in a sandbox: Size applies to
// each directory, and [MaxDirectories] to all.
func NewDividedPool(launch LaunchIn, o PoolOptions) *Pool {
	return newPool(launch, true, o)
}

// MaxDirectories is the maximum number of directories with processes in a divided pool: a process takes about
// 170 MB.
const MaxDirectories = 20

// Lease is the right to use an agent; Release returns it.
type Lease struct {
	Agent   Agent
	Release func()          // may be called repeatedly
	Suspect func()          // makes the pool check at once whether the agent still answers
	Retired <-chan struct{} // closed when the agent should be replaced: release it when its session is idle
}

// Acquire leases an agent for no directory. In a divided pool, it cannot open sessions.
func (p *Pool) Acquire(ctx context.Context) (Lease, error) { return p.AcquireIn(ctx, "") }

// AcquireIn leases an agent for the sessions of a directory, and starts one if necessary. Concurrent first
// calls start one process. If the start fails, all callers that wait for it get the error; later calls try
// again. Errors: kind [fault.Busy] if too many directories are in use.
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

// leaseMember adds a lease to the selected member, which may be new.
func (p *Pool) leaseMember(directory string) (*member, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fault.ErrStopping
	}
	m := p.selectMember(directory)
	if m == nil {
		if err := p.makeRoom(directory); err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(context.Background(), p.options.StartTimeout)
		m = &member{
			ready: make(chan struct{}), cancel: cancel, directory: directory,
			suspect: make(chan struct{}, 1), retired: make(chan struct{}),
		}
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

// makeRoom stops processes without sessions while the directory would exceed the limit, at first the one that has had none for longest. The
// caller must hold the lock.
func (p *Pool) makeRoom(directory string) error {
	for p.countDirectoriesWith(directory) > MaxDirectories {
		m := p.longestUnused()
		if m == nil {
			return fault.Errorf(fault.Busy, "sessions are open in %d directories, the maximum, because each directory needs its own process: close some", MaxDirectories)
		}
		p.stopUnused(m)
	}
	return nil
}

// countDirectoriesWith counts the directories that have processes, and the given one. The caller must hold the lock.
func (p *Pool) countDirectoriesWith(directory string) int {
	used := map[string]bool{directory: true}
	for _, m := range p.members {
		used[m.directory] = true
	}
	delete(used, "") // a process without sessions
	return len(used)
}

// longestUnused returns the member of a directory that has been without leases for longest, or nil. The caller must hold the lock.
func (p *Pool) longestUnused() (longest *member) {
	for _, m := range p.members {
		if m.linger != nil && m.directory != "" && (longest == nil || m.unused.Before(longest.unused)) {
			longest = m
		}
	}
	return longest
}

// selectMember returns the first member with room, or the emptiest if all are full and no more may start; nil
// means that a new one must start. A retired member takes no new leases and makes room for one successor, but
// not for a second one: otherwise, processes that grow faster than their runs end would use up the memory.
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

// dead reports whether the process has ended but is not yet removed.
func (m *member) dead() bool {
	return m.agent != nil && IsClosed(m.agent.Done())
}

// run starts a member, waits for its end, and removes it.
func (p *Pool) run(ctx context.Context, m *member) {
	agent, err := p.launch(ctx, m.directory)
	m.cancel()
	p.started(m, agent, err)
	if err != nil {
		return
	}
	p.watch(m)
	<-agent.Done()
	p.ended(m)
	stopWithin(agent, 0) // it is over, but the work of its driver may not be
}

func (p *Pool) ended(m *member) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remove(m)
	p.stats.Running--
	if !m.stopping {
		p.stats.Deaths++
	}
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
		p.stats.Failures++
		p.remove(m)
		return
	}
	p.stats.Starts++
	p.stats.Running++
	if m.leases == 0 { // all callers that waited have given up
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

// stopAfterLinger stops a member without leases after a while, unless it is used again. The caller must hold
// the lock.
func (p *Pool) stopAfterLinger(m *member) {
	if p.closed || m.dead() {
		return // Close stops it, or it has ended
	}
	linger := max(p.options.Linger, 0)
	if IsClosed(m.retired) {
		linger = 0
	}
	var timer *time.Timer
	timer = time.AfterFunc(linger, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if m.linger != timer || p.closed { // it is in use again, or Close stops it
			return
		}
		p.stopUnused(m)
	})
	m.linger, m.unused = timer, time.Now()
}

// stopUnused stops a member without leases. The caller must hold the lock.
func (p *Pool) stopUnused(m *member) {
	p.remove(m) // first, so that it gets no new leases
	m.linger.Stop()
	m.linger = nil // it may have fired, and wait for the lock
	m.stopping = !m.dead()
	p.goroutines.Go(func() { stopWithin(m.agent, stopGently) })
}

// stopGently is how long a process may take to stop gracefully.
const stopGently = time.Second

func stopWithin(a Agent, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	a.Stop(ctx)
}

// Close stops all processes and waits for them; they may stop gracefully until ctx is done. Afterwards,
// Acquire fails.
func (p *Pool) Close(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	for _, m := range p.members {
		m.cancel()
		m.stopping = m.stopping || !m.dead()
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

package copilot

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Launch     agent.Launch        // starts agent processes; required
	LaunchIn   agent.LaunchIn      // in place of Launch, for processes that are not shared by directories; nil: none
	Health     func() agent.Health // what is known of the agent; required
	Pool       agent.PoolOptions
	Policy     permission.Policy // the configured permissions, under those of each session
	Model      string            // of sessions that name none; "": the first that is listed
	Limits     Limits
	Unattended map[string]Unattended // by the origin of sessions; what it does not name waits for a client
	Store      *store.Store          // keeps the sessions; nil: they live as long as the host. Who opened it closes it, after the host
	Log        *slog.Logger          // nil: none

	RecordBudget int // memory for the record of one session, in bytes; 16 MiB
	MaxClosed    int // closed sessions that stay in memory, and without a store listed; 100
}

func (o Options) withDefaults() Options {
	if o.RecordBudget <= 0 {
		o.RecordBudget = 16 << 20
	}
	if o.MaxClosed <= 0 {
		o.MaxClosed = 100
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Pool.Log == nil {
		o.Pool.Log = o.Log
	}
	o.Limits = o.Limits.withDefaults()
	return o
}

// Host knows all sessions of the portal, whichever dialect started them. Its
// methods may be called concurrently. Close ends it.
type Host struct {
	options        Options
	pool           *agent.Pool
	counts         tally
	runSlots       *slots // of runs
	clients        attachedClients
	recorder       *recorder // nil without a store, as is the next
	remoteFollower *remoteFollower

	mu       sync.Mutex
	sessions map[string]*Session
	open     int // sessions that are open or being opened
	closed   bool
}

// NewHost makes a host without sessions; nothing is started yet.
func NewHost(o Options) *Host {
	o = o.withDefaults()
	h := &Host{options: o, runSlots: newSlots(o.Limits.Runs), clients: attachedClients{clients: map[string][]*Capabilities{}}, sessions: map[string]*Session{}}
	h.pool = agent.NewPool(o.Launch, o.Pool)
	if o.LaunchIn != nil {
		h.pool = agent.NewDividedPool(o.LaunchIn, o.Pool)
	}
	if o.Store != nil {
		h.recorder = newRecorder(o.Log)
		h.remoteFollower = newFollower()
	}
	return h
}

// Start describes a session to be started.
type Start struct {
	Origin       string            // the dialect
	Model        string            // its id or its name for people; "": the default
	Directory    string            // absolute path of an existing directory
	Policy       permission.Policy // over the configured one
	AskUser      bool              // somebody can answer questions of the agent
	Tools        []event.Tool      // what clients do for the agent
	Capabilities Capabilities      // what its client can answer without being attached; see [Session.AddCapabilities]
	Attributes   map[string]string // see [Session.Attribute]
	// WithoutAgent says that the agent is not waited for: it is had with the first prompt,
	// whose run fails if it cannot be, or if it has no such model. The next prompt
	// tries again.
	WithoutAgent bool
}

// Start opens a session. Errors: [fault.ErrModelNotFound], [fault.ErrDirectoryNotAbsolute],
// [fault.ErrDirectoryNotFound], in this order, kind [fault.Invalid] for tools that cannot be
// offered, kind [fault.Unavailable] when the agent cannot be had, or kind [fault.Busy] when
// too many sessions are open. With [Start.WithoutAgent] nothing is said of the model and
// the agent.
func (h *Host) Start(ctx context.Context, start Start) (*Session, error) {
	if err := h.reserveSession(); err != nil {
		return nil, err
	}
	s, err := h.start(ctx, start)
	if err != nil {
		h.releaseSession()
		return nil, err
	}
	if err := h.register(s); err != nil {
		return nil, err
	}
	return s, nil
}

func (h *Host) start(ctx context.Context, start Start) (*Session, error) {
	if start.WithoutAgent {
		return h.startWithoutAgent(ctx, start)
	}
	s, agent, err := h.tryStart(ctx, start)
	if err != nil && agent != nil && exitsSoon(ctx, agent) { // it was being killed: a new one is not
		s, _, err = h.tryStart(ctx, start)
	}
	return s, err
}

// tryStart opens a session on an agent, which it returns unless there is none or the
// client is to blame.
func (h *Host) tryStart(ctx context.Context, start Start) (*Session, agent.Agent, error) {
	if h.pool.Divided() { // the process needs the directory
		if err := CheckDirectory(start.Directory); err != nil {
			return nil, nil, err
		}
	}
	lease, err := h.pool.AcquireIn(ctx, start.Directory)
	if err != nil {
		return nil, nil, err
	}
	model, err := h.check(ctx, lease.Agent, start)
	if err != nil {
		blamed := lease.Agent
		if fault.KindOf(err) == fault.Invalid {
			blamed = nil
		} else { // it did not answer, or not well
			lease.Suspect()
		}
		lease.Release()
		return nil, blamed, err
	}
	s := newSession(h, newID(), model, start)
	if err := s.open(ctx, lease); err != nil {
		return nil, lease.Agent, err
	}
	return s, lease.Agent, nil
}

// endingTime is how long a process that was killed may take until its end is seen and
// its children have ended.
const endingTime = time.Second

// exitsSoon says whether an agent has ended or is being killed, and waits for its end.
func exitsSoon(ctx context.Context, a agent.Agent) bool {
	ctx, cancel := context.WithTimeout(ctx, endingTime)
	defer cancel()
	if err := a.Ping(ctx); err == nil || fault.KindOf(err) == fault.Busy {
		return false // it lives: the error is its answer
	}
	select {
	case <-a.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// check looks at what a client asks for and gives the model.
func (h *Host) check(ctx context.Context, a agent.Agent, start Start) (model agent.Model, err error) {
	if model, err = h.findModel(ctx, a, start.Model); err != nil {
		return agent.Model{}, err
	}
	return model, start.check()
}

// startWithoutAgent opens a session without its agent, as one that was at rest.
func (h *Host) startWithoutAgent(ctx context.Context, start Start) (*Session, error) {
	if err := start.check(); err != nil {
		return nil, err
	}
	s := newSession(h, newID(), agent.Model{ID: start.Model, Multiplier: 1}, start)
	s.modelUnresolved = true
	return s, s.activateWithoutAgent(ctx)
}

// check looks at what needs no agent.
func (s Start) check() error {
	if err := CheckDirectory(s.Directory); err != nil {
		return err
	}
	return event.CheckTools(s.Tools)
}

// CheckDirectory refuses what is no absolute path of an existing directory. Errors: [fault.ErrDirectoryNotAbsolute],
// [fault.ErrDirectoryNotFound].
func CheckDirectory(dir string) error {
	if !filepath.IsAbs(dir) {
		return fault.ErrDirectoryNotAbsolute
	}
	if strings.ContainsRune(dir, 0) {
		return fault.ErrDirectoryNotFound
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return fault.ErrDirectoryNotFound
	}
	return nil
}

// register lists an open session, or closes it when the host has been closed
// meanwhile.
func (h *Host) register(s *Session) error {
	h.mu.Lock()
	stopping := h.closed
	if !stopping {
		h.sessions[s.id] = s
		h.evictClosed()
	}
	h.mu.Unlock()
	if stopping {
		h.shutDown(s)
		return fault.ErrStopping
	}
	return nil
}

// sessionClosed is called when a session has closed.
func (h *Host) sessionClosed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	h.evictClosed()
}

// evictClosed forgets closed sessions beyond those that are kept. Called with
// the lock held.
func (h *Host) evictClosed() {
	var idle []evictable
	for _, s := range h.sessions {
		if used, ok := s.isEvictable(); ok {
			idle = append(idle, evictable{s, used})
		}
	}
	slices.SortFunc(idle, func(a, b evictable) int { return a.used.Compare(b.used) })
	for len(idle) > h.options.MaxClosed {
		h.evict(idle[0].session)
		idle = idle[1:]
	}
}

// evict takes a session out of memory: who reads on finds it again by its name.
// Called with the lock held.
func (h *Host) evict(s *Session) {
	delete(h.sessions, s.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evicted = h.options.Store != nil // without one there is no other object
	s.record.Close()
}

// evictable is a session that can be dropped from memory.
type evictable struct {
	session *Session
	used    time.Time
}

// Models lists the models that sessions can use, the default first, then those
// of the vendor. It starts an agent process if none runs.
func (h *Host) Models(ctx context.Context) ([]agent.Model, error) {
	lease, err := h.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer lease.Release()
	models, err := lease.Agent.Models(ctx)
	if err != nil {
		return nil, err
	}
	i := indexOf(models, h.options.Model)
	if i <= 0 {
		return models, nil
	}
	return slices.Concat(models[i:i+1], models[:i], models[i+1:]), nil
}

// Account says who the agent works for at its vendor, and what may be used. It
// starts an agent process if none runs.
func (h *Host) Account(ctx context.Context) (agent.Account, error) {
	lease, err := h.pool.Acquire(ctx)
	if err != nil {
		return agent.Account{}, err
	}
	defer lease.Release()
	return lease.Agent.Account(ctx)
}

// SignOut ends the sign-in at the agent's vendor, for all programs that use the agent; false if there was none. It starts
// an agent process if none runs. An error of kind [fault.Denied] says where a sign-in comes from that cannot be ended here.
func (h *Host) SignOut(ctx context.Context) (bool, error) {
	lease, err := h.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer lease.Release()
	return lease.Agent.SignOut(ctx)
}

// Extensions lists what sessions in a directory would find: MCP servers and
// skills. It starts an agent process if none runs. Errors: [fault.ErrDirectoryNotAbsolute],
// [fault.ErrDirectoryNotFound], or those of the agent.
func (h *Host) Extensions(ctx context.Context, directory string) (agent.Extensions, error) {
	if err := CheckDirectory(directory); err != nil {
		return agent.Extensions{}, err
	}
	lease, err := h.pool.AcquireIn(ctx, directory)
	if err != nil {
		return agent.Extensions{}, err
	}
	defer lease.Release()
	return lease.Agent.Extensions(ctx, directory)
}

// Health says how the agent is, without starting it.
func (h *Host) Health() agent.Health { return h.options.Health() }

// Close closes all sessions, which ends their records, and stops the agent
// processes. With a store, sessions that were open go on with their next use, in
// this process or another. No session can be started any more. ctx bounds how
// long things may end gently; after that they are ended by force.
func (h *Host) Close(ctx context.Context) {
	h.mu.Lock()
	h.closed = true
	sessions := make([]*Session, 0, len(h.sessions))
	for _, s := range h.sessions {
		sessions = append(sessions, s)
	}
	h.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var all sync.WaitGroup
		for _, s := range sessions {
			all.Go(func() { h.shutDown(s) })
		}
		all.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done(): // an agent hangs: killing it below frees its sessions
	}
	h.pool.Close(ctx)
	<-ended
	if h.recorder != nil {
		h.remoteFollower.close()
		h.recorder.close()
	}
}

// shutDown ends a session as the host stops: with a store, its next use goes on.
func (h *Host) shutDown(s *Session) {
	if h.recorder != nil {
		s.shutDown((*session.Machine).Stop)
		return
	}
	s.shutDown((*session.Machine).Close)
}

// Stopping says whether [Host.Close] was called: sessions that are at rest are not used here any more.
func (h *Host) Stopping() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func newID() string { return uuid.NewString() }

package copilot

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/checkpoint"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
	"github.com/copilot-portal/portal/copilot/permission"
	"github.com/copilot-portal/portal/copilot/session"
	"github.com/copilot-portal/portal/copilot/store"
)

// Options configure a [Host]. Zero fields take the defaults named.
type Options struct {
	Launch      agent.Launch        // starts agent processes; required
	LaunchIn    agent.LaunchIn      // replaces Launch with processes for one directory each; nil: none
	Health      func() agent.Health // reports the state of the agent; required
	Pool        agent.PoolOptions
	Agents      []NamedAgent      // besides this first one
	Policy      permission.Policy // the configured permissions, which those of each session precede
	Model       string            // of sessions that name none; "": the first one listed
	Limits      Limits
	Unattended  map[string]Unattended // by origin of sessions; questions of other origins wait for a client
	Store       *store.Store          // keeps the sessions; nil: they end with the host. The caller must close it after the host
	Sockets     string                // directory of sockets through which the processes on the store call each other; "": a session is changed only by its holder
	Remote      ipc.Remote            // carries such calls between machines; nil: there is one
	Others      func() []string       // processes of other nodes that take sessions, the least busy first; nil: there is one node
	Directories []string              // in which this node takes sessions of other nodes; none: everywhere
	Moves       *Moves                // conversations between machines; nil: they stay
	Accepting   func() error          // why no prompts are accepted at present; nil: they always are
	Log         *slog.Logger          // nil disables logging

	Capabilities func() []agent.Capability // of the first agent; nil: all

	// Checkpoints keeps the states of directories before and after runs; nil: none are taken. The caller must close it after
	// the host.
	Checkpoints        *checkpoint.Stores
	WithoutCheckpoints []string // origins of sessions whose runs get none

	ModelTitles []string // origins of sessions that the model gives a title after the first run, for which it is asked once

	RecordBudget int // memory for the record of one session, in bytes; default 16 MiB
	MaxClosed    int // closed sessions kept in memory, and without a store listed; default 100
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
	if o.Capabilities == nil {
		o.Capabilities = agent.Capabilities
	}
	o.Limits = o.Limits.withDefaults()
	return o
}

// Host manages all sessions of the portal, of all dialects. Its methods may be called concurrently. The
// caller must close it.
type Host struct {
	options        Options
	agents         []*agentPool // the first one first
	counts         tally
	runSlots       *slots // of runs
	clients        attachments[Capabilities]
	clientServers  clientServers
	clientFiles    attachments[attachedFiles]
	recorder       *recorder // nil without a store, like remoteFollower
	remoteFollower *remoteFollower
	commands       commands
	processes      *ipc.Processes // nil if other processes cannot be called
	work           hostWork       // checkpoints, copies of conversations, sign-ins
	draining       atomic.Bool
	closed         atomic.Bool // by Close; set with the lock, and also read by those that hold the lock of a session

	mu       sync.Mutex
	sessions map[string]*Session
	watchers map[string]map[chan struct{}]struct{} // of deletions, by session
	open     int                                   // sessions that are open or being opened
}

// NewHost returns a host without sessions. It does not start an agent process.
func NewHost(o Options) *Host {
	o = o.withDefaults()
	h := &Host{
		options: o, commands: newCommands(), runSlots: newSlots(o.Limits.Runs), sessions: map[string]*Session{}, watchers: map[string]map[chan struct{}]struct{}{},
	}
	h.work.begin()
	h.agents = newPools(o)
	if o.Store != nil {
		h.recorder = newRecorder(o.Log)
		h.remoteFollower = newFollower(h)
		h.openSocket()
	}
	return h
}

// Start describes a session to start.
type Start struct {
	Origin       string               // the dialect
	Model        string               // id or display name; "": the default
	Directory    string               // absolute path of an existing directory
	Policy       permission.Policy    // precedes the configured one
	AskUser      bool                 // a client can answer questions of the agent
	Tools        []event.Tool         // tools that clients execute for the agent
	Servers      []agent.ServerConfig // MCP servers of this session; see [Session.SetServers]
	Files        bool                 // its client will offer files; see [Host.AttachFiles]
	Capabilities Capabilities         // what its client can answer without being attached; see [Session.AddCapabilities]
	Attributes   map[string]string    // see [Session.Attribute]
	// WithoutAgent starts the session without waiting for an agent. The first prompt starts one. If there is none, or it
	// lacks the model, the run fails and the next prompt tries again.
	WithoutAgent bool
}

// Start starts a session. Errors: [fault.ErrModelNotFound], [fault.ErrDirectoryNotAbsolute], [fault.ErrDirectoryNotFound], in
// this order, kind [fault.Invalid] for invalid tools and servers, and for tools of an agent that can use none, kind [fault.Unavailable] without an agent, kind [fault.Busy]
// if too many sessions are open. With [Start.WithoutAgent], there are no errors of model and agent.
func (h *Host) Start(ctx context.Context, start Start) (*Session, error) {
	s, err := h.startHere(ctx, start)
	if err != nil {
		return h.startElsewhere(ctx, start, err)
	}
	s.awaitShared(ctx)
	return s, nil
}

// startHere starts a session in this process.
func (h *Host) startHere(ctx context.Context, start Start) (*Session, error) {
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
	on := h.agentOf(start.Model)
	if err := on.requireTools(start.Tools); err != nil {
		return nil, err
	}
	if start.WithoutAgent {
		return h.startWithoutAgent(ctx, on, start)
	}
	s, agent, err := h.tryStart(ctx, on, start)
	if err != nil && agent != nil && exitsSoon(ctx, agent) { // the process was being killed: try another
		s, _, err = h.tryStart(ctx, on, start)
	}
	return s, err
}

// tryStart starts a session on a process of an agent. It also returns the process, unless there is none or the request is invalid.
func (h *Host) tryStart(ctx context.Context, on *agentPool, start Start) (*Session, agent.Agent, error) {
	if on.pool.Divided() { // the process needs the directory
		if err := CheckDirectory(start.Directory); err != nil {
			return nil, nil, err
		}
	}
	lease, err := on.pool.AcquireIn(ctx, start.Directory)
	if err != nil {
		return nil, nil, err
	}
	model, err := h.findModel(ctx, on, lease.Agent, start.Model)
	if err == nil {
		err = start.check()
	}
	if err != nil {
		blamed := lease.Agent
		if fault.KindOf(err) == fault.Invalid {
			blamed = nil
		} else { // the process did not answer, or failed
			lease.Suspect()
		}
		lease.Release()
		return nil, blamed, err
	}
	s := newSession(h, newID(), model, start)
	s.settings.Agent = on.Name
	if err := s.open(ctx, on, lease); err != nil {
		h.clientServers.forget(s.id)
		return nil, lease.Agent, err
	}
	return s, lease.Agent, nil
}

// endingTime is how long the end of a killed process and its children may go unnoticed.
const endingTime = time.Second

// exitsSoon waits for the end of an agent process that is being killed, and reports whether it ended.
func exitsSoon(ctx context.Context, a agent.Agent) bool {
	ctx, cancel := context.WithTimeout(ctx, endingTime)
	defer cancel()
	if err := a.Ping(ctx); err == nil || fault.KindOf(err) == fault.Busy {
		return false // the process works: the error is its answer
	}
	select {
	case <-a.Done():
		return true
	case <-ctx.Done():
		return false
	}
}

// startWithoutAgent starts a session without an agent, in the state of a suspended one.
func (h *Host) startWithoutAgent(ctx context.Context, on *agentPool, start Start) (*Session, error) {
	if err := start.check(); err != nil {
		return nil, err
	}
	s := newSession(h, newID(), agent.Model{ID: start.Model, Multiplier: 1}, start)
	s.settings.Agent, s.settings.ModelUnresolved = on.Name, true
	return s, s.activateWithoutAgent(ctx)
}

// check validates everything that needs no agent.
func (s Start) check() error {
	if err := CheckDirectory(s.Directory); err != nil {
		return err
	}
	return cmp.Or(event.CheckTools(s.Tools), checkServers(s.Servers))
}

// CheckDirectory checks that dir is the absolute path of an existing directory. Errors: [fault.ErrDirectoryNotAbsolute],
// [fault.ErrDirectoryNotFound].
func CheckDirectory(dir string) error {
	if !filepath.IsAbs(dir) {
		return fault.ErrDirectoryNotAbsolute
	}
	if strings.ContainsRune(dir, 0) {
		return fault.ErrDirectoryNotFound
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() { //nolint:gosec // it is the directory that the caller wants to work in
		return fault.ErrDirectoryNotFound
	}
	return nil
}

// register adds an active session, or ends it if the host was closed meanwhile.
func (h *Host) register(s *Session) error {
	h.mu.Lock()
	stopping := h.closed.Load()
	if !stopping {
		h.sessions[s.id] = s
		h.evictClosed()
	}
	h.mu.Unlock()
	if stopping {
		h.shutDown(s)
		return fault.ErrStopping
	}
	if h.draining.Load() { // perhaps since the session was opened
		s.restartIdle()
	}
	return nil
}

// sessionClosed counts a session that is no longer active.
func (h *Host) sessionClosed() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.open--
	h.evictClosed()
}

// evictClosed evicts the least recently used inactive sessions beyond [Options.MaxClosed]. The caller must hold the lock.
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

// evict removes a session from memory. Its readers find it again by id. The caller must hold the lock.
func (h *Host) evict(s *Session) {
	delete(h.sessions, s.id)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.evicted = h.options.Store != nil // without a store nothing can replace the object
	if !s.evicted {
		h.clientServers.forget(s.id)
	}
	s.record.Close()
}

// evictable is a session that may leave memory.
type evictable struct {
	session *Session
	used    time.Time
}

// Account returns the account that the first agent is signed in to, and its quotas. It starts an agent process if none runs.
func (h *Host) Account(ctx context.Context) (account agent.Account, err error) {
	err = h.withAgent(ctx, func(a agent.Agent) error {
		account, err = a.Account(ctx)
		return err
	})
	return account, err
}

// SignOut signs the first agent out for all programs that use it; false if it was not signed in. It starts an agent process if none
// runs. An error of kind [fault.Denied] names the source of a sign-in that cannot be ended here.
func (h *Host) SignOut(ctx context.Context) (wasSignedIn bool, err error) {
	err = h.withAgent(ctx, func(a agent.Agent) error {
		wasSignedIn, err = a.SignOut(ctx)
		return err
	})
	return wasSignedIn, err
}

// Extensions lists the MCP servers and skills of sessions of the first agent in a directory. It starts an agent process if none runs. Errors:
// [fault.ErrDirectoryNotAbsolute], [fault.ErrDirectoryNotFound], or those of the agent.
func (h *Host) Extensions(ctx context.Context, directory string) (list agent.Extensions, err error) {
	err = h.withExtensions(ctx, directory, func(_ agent.Agent, x agent.Extensions) error {
		list = x
		return nil
	})
	return list, err
}

// Health reports the state of the first agent without starting it.
func (h *Host) Health() agent.Health { return h.options.Health() }

// Close ends all sessions and their records, and stops the agent processes. With a store, the next use of a session activates
// it again, in this process or another. Afterwards, no session can be started. When ctx ends, Close kills the rest.
// Checkpoints of the last runs get a second more.
func (h *Host) Close(ctx context.Context) {
	h.mu.Lock()
	h.closed.Store(true)
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	h.runSlots.close()
	if h.processes != nil {
		h.processes.HangUp()
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		var all sync.WaitGroup
		for _, s := range sessions {
			all.Go(func() {
				h.shutDown(s)
				s.endInactiveRecord()
			})
		}
		all.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done(): // an agent hangs: its sessions end when it is killed below
	}
	var agents sync.WaitGroup
	for _, p := range h.agents {
		agents.Go(func() { p.pool.Close(ctx) })
	}
	agents.Wait()
	<-ended
	h.work.end()
	if h.processes != nil {
		h.processes.Close()
	}
	if h.recorder != nil {
		h.remoteFollower.close()
		h.recorder.close()
	}
}

// shutDown ends a session when the host stops. With a store, its next use activates it again.
func (h *Host) shutDown(s *Session) {
	if h.recorder != nil {
		s.shutDown(func(m *session.Machine) { m.Stop(s.questionsContinue()) })
		return
	}
	s.shutDown((*session.Machine).Close)
}

// Stopping reports whether [Host.Close] was called. From then on no session can be activated.
func (h *Host) Stopping() bool {
	return h.closed.Load()
}

func newID() string { return uuid.NewString() }

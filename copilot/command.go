package copilot

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
	"github.com/copilot-portal/portal/copilot/session"
)

// command is an operation on a session that the process that holds the session executes, whichever process a client uses.
// Parameters and results travel as JSON.
type command[P, R any] struct {
	name    string
	limit   time.Duration                                         // how long another process may take
	execute func(s *Session, ctx context.Context, p P) (R, error) // in this process
}

// none is the type of parameters and results that do not exist.
type none struct{}

// newCommand returns a command.
func newCommand[P, R any](name string, do func(s *Session, ctx context.Context, p P) (R, error)) command[P, R] {
	return command[P, R]{name, commandTime, do}
}

// slow returns a command that may start an agent, or change many files.
func slow[P, R any](c command[P, R]) command[P, R] {
	c.limit = slowCommandTime
	return c
}

// withoutResult returns a command without a result.
func withoutResult[P any](name string, do func(s *Session, ctx context.Context, p P) error) command[P, none] {
	return newCommand(name, func(s *Session, ctx context.Context, p P) (none, error) { return none{}, do(s, ctx, p) })
}

// withoutParams returns a command without parameters and result.
func withoutParams(name string, do func(s *Session, ctx context.Context) error) command[none, none] {
	return withoutResult(name, func(s *Session, ctx context.Context, _ none) error { return do(s, ctx) })
}

// exclusive is [Session.exclusively] for the function of a command.
func exclusive(do func(s *Session, ctx context.Context) error) func(s *Session, ctx context.Context) error {
	return func(s *Session, ctx context.Context) error {
		return s.exclusively(ctx, func(ctx context.Context) error { return do(s, ctx) })
	}
}

// withoutContext returns a command without a result that does not wait for anything but the store.
func withoutContext[P any](name string, do func(s *Session, p P) error) command[P, none] {
	return withoutResult(name, func(s *Session, _ context.Context, p P) error { return do(s, p) })
}

// effect is run for a command without a result.
func (c command[P, R]) effect(ctx context.Context, s *Session, p P) error {
	_, err := c.run(ctx, s, p)
	return err
}

// How long a command waits for a process that ends or takes a session over, and for one that cannot be reached.
const (
	handoverTime  = 5 * time.Second
	reachTime     = time.Second
	handoverRetry = 50 * time.Millisecond
)

// run executes the command in the process that holds the session: this one if no other does. When the session changes hands
// meanwhile, run tries again.
func (c command[P, R]) run(ctx context.Context, s *Session, p P) (result R, err error) {
	if s.host.processes == nil {
		return c.execute(s, ctx, p)
	}
	for began := time.Now(); ; {
		var retry time.Duration // how long to retry in total
		result, retry, err = c.tryRun(ctx, s, p)
		if time.Since(began) >= retry || s.host.Stopping() {
			return result, err
		}
		if !pause(ctx, handoverRetry) {
			return result, err
		}
	}
}

// pause waits, and reports whether ctx lasts longer.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// tryRun is run without retries. It returns how long they are worthwhile.
func (c command[P, R]) tryRun(ctx context.Context, s *Session, p P) (result R, retry time.Duration, err error) {
	holder := s.holder(ctx)
	if holder != "" {
		err = s.call(ctx, holder, c.name, c.limit, p, &result)
	} else if result, tried, err := c.runElsewhere(ctx, s, p); tried {
		return result, 0, err
	}
	switch {
	case holder == "", errors.Is(err, ipc.ErrUnreachable): // then it may have ended
		result, err = c.execute(s, ctx, p)
		retry = reachTime
	case errors.Is(err, fault.ErrStopping):
		return result, handoverTime, err
	default:
		retry = handoverTime
	}
	if !errors.Is(err, fault.ErrSessionInUse) {
		retry = 0
	}
	return result, retry, err
}

// pattern returns the route of the command for other processes.
func (c command[P, R]) pattern() string { return "POST /sessions/{session}/" + c.name }

// serve executes the command for another process.
func (c command[P, R]) serve(h *Host, r *http.Request) (any, error) {
	var p P
	if err := ipc.Params(r, &p); err != nil {
		return nil, err
	}
	s, err := h.Session(r.Context(), r.PathValue("session"))
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	err = s.checkHere()
	s.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case s.lacksDirectory():
		return nil, fault.ErrDirectoryNotFound
	}
	result, err := c.execute(s, r.Context(), p)
	s.awaitStored(r.Context())
	return result, err
}

// How long the answer to another process waits for the store, and its caller for others that read the session, so that the caller sees what it
// has changed.
const (
	storedTime = 2 * time.Second
	ownTime    = 5 * time.Second
)

// awaitStored stores what has happened so far, so that other processes can read it, or gives up after a while.
func (s *Session) awaitStored(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, storedTime)
	defer cancel()
	if s.host.options.Store.Failing() {
		return
	}
	s.storage.mu.Lock()
	_, err := s.storeNow(ctx, true) // what is left is the recorder's
	s.storage.mu.Unlock()
	if err == nil {
		err = s.host.options.Store.Flush(ctx)
	}
	if err != nil {
		s.host.options.Log.Debug("another process reads late what it has changed", "session", s.id, "err", err)
	}
}

// awaitShared lets all nodes of a cluster know a new session, or gives up after a while: the client's next request may reach any of them.
func (s *Session) awaitShared(ctx context.Context) {
	if !s.MovesBetweenNodes() {
		return
	}
	s.awaitStored(ctx)
	ctx, cancel := context.WithTimeout(ctx, catchUpTime)
	defer cancel()
	if err := s.host.options.Store.AwaitShared(ctx, s.id); err != nil {
		s.host.options.Log.Debug("other nodes know a new session late", "session", s.id, "err", err)
	}
}

// holder returns the name of the other process that holds the session; "" if this one does, or none.
func (s *Session) holder(ctx context.Context) string {
	s.mu.Lock()
	isCurrent := s.lease != leaseNone
	s.mu.Unlock()
	if isCurrent {
		return ""
	}
	s.refreshOwner(ctx, readTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine.State() != session.Elsewhere {
		return ""
	}
	return s.owner.name
}

// How long another process may take for a command.
const (
	commandTime     = 10 * time.Second
	slowCommandTime = 2 * time.Minute
)

// call executes a command in the process that holds the session.
func (s *Session) call(ctx context.Context, holder, name string, limit time.Duration, params, result any) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := s.host.processes.Call(limited, holder, "/sessions/"+s.id+"/"+name, params, result)
	patience := ownTime // the caller must see its own change, although the follower reads the session, too
	if err != nil {
		patience = readTime
	}
	s.refreshOwner(ctx, patience)
	s.host.remoteFollower.pollNow(s)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fault.Errorf(fault.Timeout, "process %d, which holds the session, does not answer: end it, or wait", s.Info().Owner)
	}
	return err
}

// runOrLog runs a command whose failure has no consequence but the log.
func runOrLog[P any](s *Session, c command[P, none], p P) {
	if err := c.effect(context.Background(), s, p); err != nil {
		s.host.options.Log.Warn("the session was not changed", "session", s.id, "command", c.name, "err", err)
	}
}

// served is a command of any type.
type served interface {
	pattern() string
	serve(h *Host, r *http.Request) (any, error)
}

// openSocket starts to serve other processes.
func (h *Host) openSocket() {
	if h.options.Sockets == "" {
		return
	}
	var err error
	if h.processes, err = ipc.Open(h.options.Sockets, h.options.Store.Name(), h.options.Remote); err != nil {
		h.options.Log.Warn("other processes on the data directory cannot be reached: only the process that holds a session can change it", "err", err)
		return
	}
	for _, c := range h.commands.all() {
		h.processes.Handle(c.pattern(), func(r *http.Request) (any, error) { return c.serve(h, r) })
	}
	h.processes.Handle("POST /sessions/{session}/"+attachPath, h.serveAttach)
	h.processes.Handle("POST "+startPath, h.serveStart)
	h.processes.Handle("POST "+DrainPath, h.serveDrain)
	h.processes.Handle("POST "+callingPath, h.serveCalling)
}

// Processes returns the other processes on the store; nil if they cannot be called. The caller must not close it.
func (h *Host) Processes() *ipc.Processes { return h.processes }

// awaitSession returns a session that another process may have started, and that is not stored yet.
func (h *Host) awaitSession(ctx context.Context, id string) (*Session, error) {
	for end := time.Now().Add(handoverTime); ; {
		s, err := h.Session(ctx, id)
		if !errors.Is(err, fault.ErrSessionNotFound) || time.Now().After(end) {
			return s, err
		}
		if !pause(ctx, handoverRetry) {
			return nil, ctx.Err()
		}
	}
}

// attachPath is the route of a call that attaches a client for as long as it lasts.
const attachPath = "attach"

// serveAttach attaches clients of another process until that ends the call.
func (h *Host) serveAttach(r *http.Request) (any, error) {
	var can Capabilities
	if err := ipc.Params(r, &can); err != nil {
		return nil, err
	}
	defer h.AttachClient(r.PathValue("session"), can)()
	<-r.Context().Done()
	return nil, r.Context().Err()
}

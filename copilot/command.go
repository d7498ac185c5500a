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
	execute func(s *Session, ctx context.Context, p P) (R, error) // in this process
}

// none is the type of parameters and results that do not exist.
type none struct{}

// resulting returns a command with a result.
func resulting[P, R any](name string, do func(s *Session, ctx context.Context, p P) (R, error)) command[P, R] {
	return command[P, R]{name, do}
}

// waiting returns a command without a result.
func waiting[P any](name string, do func(s *Session, ctx context.Context, p P) error) command[P, none] {
	return resulting(name, func(s *Session, ctx context.Context, p P) (none, error) { return none{}, do(s, ctx, p) })
}

// lone returns a command without parameters and result.
func lone(name string, do func(s *Session, ctx context.Context) error) command[none, none] {
	return waiting(name, func(s *Session, ctx context.Context, _ none) error { return do(s, ctx) })
}

// immediate returns a command that does not wait for anything but the store.
func immediate[P any](name string, do func(s *Session, p P) error) command[P, none] {
	return waiting(name, func(s *Session, _ context.Context, p P) error { return do(s, p) })
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
		select {
		case <-time.After(handoverRetry):
		case <-ctx.Done():
			return result, err
		}
	}
}

// tryRun is run without retries. It returns how long they are worthwhile.
func (c command[P, R]) tryRun(ctx context.Context, s *Session, p P) (result R, retry time.Duration, err error) {
	holder := s.holder(ctx)
	if holder == "" {
		result, err = c.execute(s, ctx, p)
	} else {
		err = s.call(ctx, holder, c.name, p, &result)
	}
	switch {
	case errors.Is(err, ipc.ErrUnreachable):
		return result, reachTime, s.heldBy()
	case errors.Is(err, fault.ErrSessionInUse), holder != "" && errors.Is(err, fault.ErrStopping):
		retry = handoverTime
	}
	return result, retry, err
}

// heldBy is inUseError for callers that do not hold the lock.
func (s *Session) heldBy() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inUseError()
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
	return c.execute(s, r.Context(), p)
}

// holder returns the name of the other process that holds the session; "" if this one does, or none.
func (s *Session) holder(ctx context.Context) string {
	if !s.isElsewhere() {
		return ""
	}
	s.refreshOwner(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.machine.State() != session.Elsewhere {
		return ""
	}
	return s.ownerName
}

func (s *Session) isElsewhere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.State() == session.Elsewhere
}

// commandTime limits commands whose caller sets no limit. Those that start an agent take longest.
const commandTime = 2 * time.Minute

// call executes a command in the process that holds the session.
func (s *Session) call(ctx context.Context, holder, name string, params, result any) error {
	limited, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	err := s.host.processes.Call(limited, holder, "/sessions/"+s.id+"/"+name, params, result)
	s.host.remoteFollower.hurry()
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return fault.Errorf(fault.Timeout, "process %d, which holds the session, does not answer: end it, or wait", s.Info().Owner)
	}
	return err
}

// tell runs a command whose failure has no consequence but the log.
func tell[P any](s *Session, c command[P, none], p P) {
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
	if h.processes, err = ipc.Open(h.options.Sockets, h.options.Store.Name()); err != nil {
		h.options.Log.Warn("other processes on the data directory cannot be reached: only the process that holds a session can change it", "err", err)
		return
	}
	for _, c := range h.commands.all() {
		h.processes.Handle(c.pattern(), func(r *http.Request) (any, error) { return c.serve(h, r) })
	}
	h.processes.Handle("POST /sessions/{session}/"+attachPath, h.serveAttach)
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
		select {
		case <-time.After(handoverRetry):
		case <-ctx.Done():
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

package copilot

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
	"github.com/copilot-portal/portal/copilot/session"
)

// DrainPath is the route of a call that drains another process. Its parameter says whether to begin or to end, its result is a [Draining].
const DrainPath = "/drain"

// drainAfter is how long a session must be idle to be suspended while its host drains.
const drainAfter = 250 * time.Millisecond

// errDraining refuses sessions.
var errDraining = fault.Errorf(fault.Unavailable, "this portal is being drained, so it opens no sessions: use another one of the cluster")

// Draining is the state of a host that may be draining.
type Draining struct {
	Draining bool `json:"draining"`
	Sessions int  `json:"sessions"` // open ones
	Runs     int  `json:"runs"`     // that work
}

// Drain makes the host open no more sessions, and suspend those that are idle, so that other processes can have them. It
// returns at once; the host is drained when no session is open. With on being false the host opens sessions again. Without a
// store sessions stay open.
func (h *Host) Drain(on bool) Draining {
	h.draining.Store(on)
	h.mu.Lock()
	sessions := slices.Collect(maps.Values(h.sessions))
	h.mu.Unlock()
	for _, s := range sessions {
		s.restartIdle()
	}
	return h.Draining()
}

// DrainProcess is [Host.Drain] in a process on the store, by its name. Errors: those of [ipc.Processes.Call], with kind [fault.Unavailable] if the
// process cannot be reached.
func (h *Host) DrainProcess(ctx context.Context, process string, on bool) (d Draining, err error) {
	switch {
	case h.options.Store != nil && process == h.options.Store.Name():
		return h.Drain(on), nil
	case h.processes == nil:
		return d, errNoProcess
	}
	err = h.processes.Call(ctx, process, DrainPath, on, &d)
	if errors.Is(err, ipc.ErrUnreachable) {
		err = errNoProcess
	}
	return d, err
}

// errNoProcess reports a process that cannot be drained.
var errNoProcess = fault.Errorf(fault.Unavailable, "the portal to drain cannot be reached at the moment; try again")

// serveDrain drains this process for another one.
func (h *Host) serveDrain(r *http.Request) (any, error) {
	var on bool
	if err := ipc.Params(r, &on); err != nil {
		return nil, err
	}
	return h.Drain(on), nil
}

// Draining returns whether the host is being drained, and what is left.
func (h *Host) Draining() Draining {
	open, runs := h.Load()
	return Draining{h.draining.Load(), open, runs}
}

// restartIdle makes the session measure again how long it is idle.
func (s *Session) restartIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life != nil && !s.machine.State().AtRest() {
		s.life.idle.Reset(s.host.suspendAfter())
	}
}

// isDrained reports whether this host does not open the session, but another one may.
func (s *Session) isDrained() bool {
	return s.host.options.Others != nil && s.host.draining.Load() && s.machineState() != session.Active
}

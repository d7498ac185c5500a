package copilot

import (
	"context"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/ipc"
	"github.com/copilot-portal/portal/copilot/session"
)

// startPath is the route of a call that starts a session for another node.
const startPath = "/start"

// startElsewhere starts a session on the first other node that can, the least busy one first. It returns the error of this node if
// none can.
func (h *Host) startElsewhere(ctx context.Context, start Start, here error) (*Session, error) {
	if h.options.Others == nil || h.processes == nil || start.Files || !mayBeStartedElsewhere(here) {
		return nil, here
	}
	for _, process := range h.options.Others() {
		limited, cancel := context.WithTimeout(ctx, slowCommandTime)
		var id string
		err := h.processes.Call(limited, process, startPath, start, &id)
		cancel()
		if err == nil {
			return h.awaitSession(ctx, id)
		}
	}
	return nil, here
}

// mayBeStartedElsewhere reports whether another node may succeed where this one failed.
func mayBeStartedElsewhere(err error) bool {
	kind := fault.KindOf(err)
	return kind == fault.Busy || kind == fault.Unavailable || errors.Is(err, fault.ErrDirectoryNotFound)
}

// serveStart starts a session for another node.
func (h *Host) serveStart(r *http.Request) (any, error) {
	var start Start
	if err := ipc.Params(r, &start); err != nil {
		return nil, err
	}
	if !h.takes(filepath.Clean(start.Directory)) {
		return nil, fault.ErrDirectoryNotFound
	}
	s, err := h.startHere(r.Context(), start)
	if err != nil {
		return nil, err
	}
	s.awaitStored(r.Context())
	return s.id, nil
}

// runElsewhere executes a command for a session that nobody holds on another node, because this one lacks its directory or is being drained. tried is false if
// this one should execute it.
func (c command[P, R]) runElsewhere(ctx context.Context, s *Session, p P) (result R, tried bool, err error) {
	if !s.lacksDirectory() && !s.isDrained() {
		return result, false, nil
	}
	for _, process := range s.host.options.Others() {
		err = s.call(ctx, process, c.name, c.limit, p, &result)
		if err == nil || !errors.Is(err, ipc.ErrUnreachable) && !errors.Is(err, fault.ErrDirectoryNotFound) {
			return result, true, err
		}
	}
	return result, false, nil
}

// lacksDirectory reports whether this node cannot work in the session's directory, and another one may.
func (s *Session) lacksDirectory() bool {
	return s.host.options.Others != nil && s.machineState() != session.Active && CheckDirectory(s.directory) != nil
}

// takes reports whether this node takes sessions of other nodes in a directory.
func (h *Host) takes(directory string) bool {
	list := h.options.Directories
	return len(list) == 0 || slices.ContainsFunc(list, func(d string) bool {
		return directory == d || strings.HasPrefix(directory, strings.TrimSuffix(d, "/")+"/")
	})
}

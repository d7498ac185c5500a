package copilot

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/ipc"
)

// Caller is a session whose agent is calling a tool.
type Caller struct {
	Session    string
	Attributes map[string]string // see [Session.Attribute]
}

// callingPath is the route by which other processes list callers.
const callingPath = "/calling"

// callingTime limits a question to another process.
const callingTime = time.Second

// Calling lists the sessions of all processes on the store whose agent is calling a tool with a name that ends in one of the suffixes. A
// process that does not answer has none.
func (h *Host) Calling(ctx context.Context, suffixes []string) []Caller {
	list := h.callingHere(suffixes)
	if h.processes == nil {
		return list
	}
	ctx, cancel := context.WithTimeout(ctx, callingTime)
	defer cancel()
	for _, name := range h.processes.Others() {
		var there []Caller
		if h.processes.Call(ctx, name, callingPath, suffixes, &there) == nil {
			list = append(list, there...)
		}
	}
	return list
}

// serveCalling lists the callers of this process for another one.
func (h *Host) serveCalling(r *http.Request) (any, error) {
	var suffixes []string
	if err := ipc.Params(r, &suffixes); err != nil {
		return nil, err
	}
	return h.callingHere(suffixes), nil
}

func (h *Host) callingHere(suffixes []string) (list []Caller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sessions {
		if attributes, calls := s.calling(suffixes); calls {
			list = append(list, Caller{s.id, attributes})
		}
	}
	return list
}

// calling reports whether the agent is calling a tool with one of the suffixes, and returns the attributes of the session.
func (s *Session) calling(suffixes []string) (attributes map[string]string, calls bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings.Attributes, slices.ContainsFunc(s.blocks.Open(), func(b event.Block) bool {
		call, isCall := b.Start.(event.ToolStarted)
		return isCall && slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(call.Name, suffix) })
	})
}

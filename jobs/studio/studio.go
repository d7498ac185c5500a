// Package studio generates user interfaces from descriptions of APIs, and changes them on request
// (spec/contracts/cli-protocol.md with its notes; spec/studio.md). Sessions do the work, and their answers are checked. It knows
// no transport: `portal cli`, /rpc and the page all use it.
package studio

import (
	"cmp"
	"context"
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Origin is the origin of the studio's sessions.
const Origin = "studio"

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host     // required; close it after the studio
	Policy    permission.Policy // for conversations; sessions that write code may do nothing
	Model     string            // id or name; "": the portal's default
	Directory string            // of the agent, absolute
	Running   int               // maximum of requests at work; 8
	Waiting   int               // maximum of requests that wait; 100
}

// The errors that dialects translate. They may be wrapped: use errors.Is.
var (
	ErrGeneration    = &fault.Error{Kind: fault.Internal, Text: "no interface could be made"}
	ErrCustomization = &fault.Error{Kind: fault.Internal, Text: "the change could not be made"}
	ErrTooLarge      = &fault.Error{Kind: fault.Invalid, Text: "this is larger than what the model can read at once"}
	ErrBusy          = &fault.Error{Kind: fault.Busy, Text: "too many requests wait already; send fewer at a time"}
)

// Host serves requests, each by way of a [Turn]. Its methods may be called concurrently; a request ends with its context.
type Host struct {
	options Options
	slots   chan struct{} // has a token for each request
	running chan struct{} // has a token for each request at work

	mu   sync.Mutex
	tabs []*conversationTab // the most recently used last
}

// New returns a host. It needs no closing: its sessions belong to the host of sessions.
func New(o Options) *Host {
	o.Running, o.Waiting = cmp.Or(max(o.Running, 0), 8), cmp.Or(max(o.Waiting, 0), 100)
	return &Host{options: o, slots: make(chan struct{}, o.Running+o.Waiting), running: make(chan struct{}, o.Running)}
}

// Turn is a place in the queue of a [Host], for one request, which releases it.
type Turn struct {
	host   *Host
	tab    *conversationTab // nil outside of conversations
	before *Turn            // in the conversation; nil if it is over
	over   chan struct{}    // closed on release
	works  bool             // it has a token of running
	once   sync.Once
}

// Turn takes a place in the queue, without waiting. Error: [ErrBusy].
func (h *Host) Turn() (*Turn, error) {
	select {
	case h.slots <- struct{}{}:
		return &Turn{host: h, over: make(chan struct{})}, nil
	default:
		return nil, ErrBusy
	}
}

// TurnIn is [Host.Turn] for a message of a conversation, which the client names. Messages of a conversation are answered in the
// order of their turns. Error: [ErrBusy].
func (h *Host) TurnIn(conversation string) (*Turn, error) {
	t, err := h.Turn()
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	t.tab = h.tab(conversation)
	t.before, t.tab.last = t.tab.last, t
	return t, nil
}

// wait waits for the earlier turns of the conversation and for a slot. Error: that of ctx.
func (t *Turn) wait(ctx context.Context) error {
	for p := t.before; p != nil; p = p.before { // a turn that stopped waiting still has others before it
		select {
		case <-p.over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	t.before = nil
	select {
	case t.host.running <- struct{}{}:
		t.works = true
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// release frees the place.
func (t *Turn) release() {
	t.once.Do(func() {
		if t.works {
			<-t.host.running
		}
		<-t.host.slots
		close(t.over)
	})
}

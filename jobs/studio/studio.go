// Package studio generates user interfaces from descriptions of APIs and changes them on request
// (spec/contracts/cli-protocol.md with its notes; spec/studio.md). Sessions do the work, and the studio checks their answers. It is
// independent of transports: `portal cli`, /rpc and the page all use it.
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

// Options configure a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host     // required; close it after the studio
	Policy    permission.Policy // of conversations; sessions that generate code may do nothing
	Model     string            // id or name; "": the portal's default
	Directory string            // of the agent, absolute
	Running   int               // maximum number of running requests; default 8
	Waiting   int               // maximum number of waiting requests; default 100
}

// Errors with codes of their own in dialects. They may be wrapped: use errors.Is.
var (
	ErrGeneration    = &fault.Error{Kind: fault.Internal, Text: "the interface could not be generated"}
	ErrCustomization = &fault.Error{Kind: fault.Internal, Text: "the change could not be made"}
	ErrTooLarge      = &fault.Error{Kind: fault.Invalid, Text: "this is larger than the model's context window allows"}
	ErrBusy          = &fault.Error{Kind: fault.Busy, Text: "too many requests are waiting; send fewer at a time"}
)

// Host serves requests, each with a [Turn]. Its methods may be called concurrently; a request ends with its context.
type Host struct {
	options Options
	slots   chan struct{} // has a token for each request
	running chan struct{} // has a token for each running request

	mu   sync.Mutex
	tabs []*conversationTab // least recently used first
}

// New returns a host. It needs no closing, because its sessions belong to the host of sessions.
func New(o Options) *Host {
	o.Running, o.Waiting = cmp.Or(max(o.Running, 0), 8), cmp.Or(max(o.Waiting, 0), 100)
	return &Host{options: o, slots: make(chan struct{}, o.Running+o.Waiting), running: make(chan struct{}, o.Running)}
}

// Turn is a position in the queue of a [Host] for one request, which releases it. It must be used once.
type Turn struct {
	host   *Host
	tab    *conversationTab // nil outside of conversations
	before *Turn            // the previous turn of the conversation; nil if it is over
	over   chan struct{}    // closed on release
	works  bool             // holds a token of running
}

// Turn returns the next position in the queue, without waiting. Error: [ErrBusy].
func (h *Host) Turn() (*Turn, error) {
	select {
	case h.slots <- struct{}{}:
		return &Turn{host: h, over: make(chan struct{})}, nil
	default:
		return nil, ErrBusy
	}
}

// TurnIn is [Host.Turn] for a message of a conversation, which any comparable value names. Messages of a conversation are answered in
// the order of their turns. Error: [ErrBusy].
func (h *Host) TurnIn(conversation any) (*Turn, error) {
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
	for p := t.before; p != nil; p = p.before { // a turn that stopped waiting may still have turns before it
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

// release frees the position.
func (t *Turn) release() {
	if t.works {
		<-t.host.running
	}
	<-t.host.slots
	close(t.over)
}

// Package studio makes interfaces from descriptions of APIs, and changes them by what people ask for
// (spec/contracts/cli-protocol.md with its notes; spec/studio.md). The work is done by sessions of Copilot; what they answer is checked before
// anybody gets it. It knows no transport: `portal cli`, /rpc and the page all come through here.
package studio

import (
	"sync"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Origin names this room in the sessions that it starts.
const Origin = "studio"

// Options of a [Host]. Zero fields take the defaults named.
type Options struct {
	Sessions  *copilot.Host     // required; to be closed after the studio
	Policy    permission.Policy // the permissions of the agent in conversations; who writes code is allowed nothing
	Model     string            // its id or its name for people; "": the portal's default
	Directory string            // where the agent is, absolute
	Running   int               // requests at work at the same time; 8
	Waiting   int               // that wait for their turn; 100. One more is refused
}

func (o Options) withDefaults() Options {
	if o.Running <= 0 {
		o.Running = 8
	}
	if o.Waiting <= 0 {
		o.Waiting = 100
	}
	return o
}

// The errors that dialects have words of their own for. They arrive wrapped: use errors.Is.
var (
	ErrGeneration    = &fault.Error{Kind: fault.Internal, Text: "no interface could be made"}
	ErrCustomization = &fault.Error{Kind: fault.Internal, Text: "the change could not be made"}
	ErrTooLarge      = &fault.Error{Kind: fault.Invalid, Text: "this is larger than what the model can read at once"}
	ErrBusy          = &fault.Error{Kind: fault.Busy, Text: "too many requests wait already; send fewer at a time"}
)

// Host does what is asked of the studio. Who has a request takes a [Turn] and makes it with that. Its methods may be called
// concurrently; a request ends with its context.
type Host struct {
	options Options
	slots   chan struct{} // has a token for each request
	running chan struct{} // and for each of them that is at work

	mu   sync.Mutex
	tabs []*conversationTab // conversations, that which was used last at the end
}

// New makes a host that does nothing yet. There is nothing to be closed but its sessions, which the host of those does.
func New(o Options) *Host {
	o = o.withDefaults()
	return &Host{options: o, slots: make(chan struct{}, o.Running+o.Waiting), running: make(chan struct{}, o.Running)}
}

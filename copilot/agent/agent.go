// Package agent defines what the portal expects of an agent, and keeps a pool of agent
// processes: it starts, shares, watches and stops them. It knows no sessions.
package agent

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
)

// What the types of this file promise is proved by package agenttest, for every
// agent.

// Launch starts one agent process. It returns when sessions can be opened on
// it, or with an [fault.Error] of kind [fault.Unavailable] that says what to do, at the
// latest soon after ctx is done. The caller stops the agent.
type Launch func(ctx context.Context) (Agent, error)

// LaunchIn is a [Launch] of a process for the sessions of one directory; "" for one
// without sessions.
type LaunchIn func(ctx context.Context, directory string) (Agent, error)

// Agent is one running agent process. Its methods may be called concurrently.
type Agent interface {
	// Open begins a conversation, or takes up a saved one. Events go to sink,
	// in order, one call at a time, the first perhaps before Open returns; a sink
	// never blocks and is not called after Close of the conversation has returned.
	Open(ctx context.Context, o Opening, sink Sink) (Conversation, error)
	// Fork saves a copy of a session's conversation, with all that was said so far,
	// under an id that the agent chooses. The copy can be opened with
	// [Opening.Resume]; the conversation itself may be open meanwhile. If nothing is
	// saved, the error is of kind [fault.NotFound].
	Fork(ctx context.Context, session string) (id string, err error)
	// Forget deletes what is saved of a session, for good. Nothing saved is no error.
	// The conversation must not be open.
	Forget(ctx context.Context, session string) error
	// Models lists what [Opening.Model] may name.
	Models(ctx context.Context) ([]Model, error)
	// Account says who the agent works for.
	Account(ctx context.Context) (Account, error)
	// SignOut makes the agent work for nobody at its vendor; false if it did not work for anybody. An error of kind [fault.Denied] says
	// where the sign-in comes from if it is not for the agent to end it.
	SignOut(ctx context.Context) (bool, error)
	// Extensions lists what conversations in a directory would find.
	Extensions(ctx context.Context, directory string) (Extensions, error)
	// Ping waits for any sign of life. An error of kind [fault.Busy] says that there was
	// none until ctx was done, but that the process may be computing; any other
	// error says that it does nothing.
	Ping(ctx context.Context) error
	// Memory is what the process itself holds in memory, in bytes; 0 when unknown.
	Memory() int64
	// Done is closed when the process has ended, for whatever reason. All that
	// the process started has been ended by then.
	Done() <-chan struct{}
	// Exit says how the process has ended, as in "exited with error code 1: 'out of memory'"; "" if
	// that is not known. Call it only once Done is closed.
	Exit() string
	// Stop ends the process, gently until ctx is done. It returns when Done is closed.
	Stop(ctx context.Context)
}

// Sink takes what happens in a conversation: the bodies of this package, with
// the sub-agent that did it, "" for the main agent. Every prompt that was sent
// ends with [event.Idle] unless the process dies. From the call of Send on, the next
// Idle is that of the prompt; while none is sent, others may come. What was asked
// is over before it, and what was begun has ended, unless an abort or a failure
// cut it off.
type Sink func(agent string, body event.Body)

// Opening says which conversation to open.
type Opening struct {
	Session   string // its id; the agent saves the conversation under it
	Model     string
	Directory string
	// Resume takes up the saved conversation of this id. Where that is not possible
	// the conversation begins anew, and [event.SessionError] of kind [fault.Unavailable] tells
	// so before Open returns.
	Resume  bool
	AskUser bool // the agent may ask the user; without it the model is not offered that
	Tools   []event.Tool
	// Pending are questions of kind [event.AskPermission] and [event.AskTool], only with Resume.
	// They were open when the process died, and will be answered now: the
	// conversation is in the middle of its prompt, as after Send. What waits for
	// them goes on when they are answered by their ids; they are not asked again.
	// Idle follows as after any prompt, and Abort works. Without Pending, and for all
	// that is not among them, the prompt was interrupted. Of those that the agent
	// does not know any more QuestionClosed tells the end, and an aborted Idle
	// follows when there is none that it knows.
	Pending []event.Question
}

// Conversation is a session as the agent sees it. Its methods may be called
// concurrently. Calls fail at once when the process is gone.
type Conversation interface {
	// Send gives a prompt to the agent; it returns when the agent has taken it.
	// Call it only while the agent is idle, unless the prompt steers: then there
	// is no Idle before the agent has read it, or the error is [fault.ErrIdle] because
	// the last prompt has come to its Idle.
	Send(ctx context.Context, p event.Prompt) error
	// Abort ends what the agent is doing; Idle follows, if it was doing anything.
	Abort(ctx context.Context) error
	// Answer gives the answer to a [event.QuestionAsked]. The model reads the reason of one
	// that declines, also of a question of kind [event.AskInput].
	Answer(ctx context.Context, q event.Question, a event.Answer) error
	// SetModel changes the model from the next prompt on.
	SetModel(ctx context.Context, model string) error
	// Compact makes the agent sum up what was said, to make room in the context
	// window. It returns when that is done, or with [fault.ErrNothingToCompact]. Call it only
	// while the agent is idle.
	Compact(ctx context.Context) error
	// SignIn begins the sign-in to an MCP server that needs one, and gives the page
	// to visit; "" if none is needed. [event.ServerChanged] tells when it is done.
	SignIn(ctx context.Context, server string) (url string, err error)
	// Extensions lists what the conversation can use now.
	Extensions(ctx context.Context) (Extensions, error)
	// Working says whether the agent does anything, a question that is open
	// included.
	Working(ctx context.Context) (bool, error)
	// Background says whether commands run that the agent left running behind its
	// work: Close ends them. An error when it cannot tell.
	Background(ctx context.Context) (bool, error)
	// Close lets the conversation go; the agent keeps it saved.
	Close(ctx context.Context) error
}

// IsClosed reports whether a channel that is only ever closed, such as that of [Agent.Done], is closed.
func IsClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

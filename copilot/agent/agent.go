// Package agent defines the interface of agents, and a pool that starts, shares, supervises and stops agent
// processes. It knows no sessions.
package agent

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// Package agenttest checks the rules of these interfaces for every agent.

// Launch starts an agent process. It returns when conversations can be opened on it, or soon after ctx is
// done at the latest. The error has kind [fault.Unavailable] and says what to do. The caller must stop the
// agent.
type Launch func(ctx context.Context) (Agent, error)

// LaunchIn is a [Launch] of a process for the sessions of one directory; "" means a process without sessions.
type LaunchIn func(ctx context.Context, directory string) (Agent, error)

// Agent is a running agent process. It is safe for concurrent use.
type Agent interface {
	// Open starts a conversation, or resumes a saved one. It sends events to sink in order, one call at a
	// time, possibly before it returns. The sink must not block, and is not called after Close of the
	// conversation has returned.
	Open(ctx context.Context, o Opening, sink Sink) (Conversation, error)
	// Fork saves a copy of a session's conversation so far, under an id that the agent chooses. The copy can
	// be opened with [Opening.Resume]. The conversation may be open. If nothing is saved, the error has kind
	// [fault.NotFound]. With a time, the copy ends before the first prompt that the agent received at this time or
	// later; there must be an earlier one, and the conversation must be idle.
	Fork(ctx context.Context, session string, before time.Time) (id string, err error)
	// Forget permanently deletes what is saved of a session. It is not an error if nothing is saved. The
	// conversation must not be open.
	Forget(ctx context.Context, session string) error
	// Models lists the valid values of [Opening.Model].
	Models(ctx context.Context) ([]Model, error)
	// Account returns the account that the agent uses.
	Account(ctx context.Context) (Account, error)
	// SignOut signs the agent out. It returns false if it was not signed in. An error of kind [fault.Denied]
	// names the source of the sign-in if the agent cannot end it.
	SignOut(ctx context.Context) (bool, error)
	// Extensions lists the extensions of conversations in a directory.
	Extensions(ctx context.Context, directory string) (Extensions, error)
	ExtensionStore
	// Ping waits for any sign of life. An error of kind [fault.Busy] means that there was none until ctx was
	// done, but that the process may be computing; any other error means that it is idle and does not
	// respond.
	Ping(ctx context.Context) error
	// Memory returns the memory of the process itself, in bytes; 0 if unknown.
	Memory() int64
	// Done returns a channel that is closed when the process has ended, for whatever reason, and everything that it
	// started has ended, too.
	Done() <-chan struct{}
	// Exit describes how the process ended, such as "exited with error code 1: 'out of memory'", or "" if unknown.
	// Call it only after Done is closed.
	Exit() string
	// Stop stops the process, gracefully until ctx is done. It returns when Done is closed.
	Stop(ctx context.Context)
}

// Sink receives the events of a conversation, with the sub-agent that caused them, or "" for the main agent.
// Every prompt ends with [event.Idle] unless the process dies. After Send is called, the next Idle is that of
// the prompt; without a prompt, others may come. Before Idle, all questions are closed, and everything that
// started has ended, except after an abort or a failure.
type Sink func(agent string, body event.Body)

// Opening selects the conversation to open.
type Opening struct {
	Session   string // id under which the agent saves the conversation
	Model     string
	Directory string
	// Resume resumes the saved conversation of this id. If that is not possible, the conversation starts anew
	// and sends an [event.SessionError] of kind [fault.Unavailable] before Open returns.
	Resume  bool
	AskUser bool // the model may ask the user
	Tools   []event.Tool
	// Servers are MCP servers of this conversation only, in addition to those that the agent stores; one with the same name replaces a
	// stored one. The agent does not save them. An agent that cannot start them sends an [event.SessionError] of kind [fault.Invalid]
	// before Open returns, and opens the conversation without them.
	Servers []ServerConfig
	// Buffer returns a file of the directory as a client has it, or false if no client has it, or the agent may not read it. It takes a few
	// seconds at most. An agent whose tools can use unsaved changes calls it; any other works with the files on disk. nil: there are none.
	Buffer func(ctx context.Context, path string) (Buffer, bool)
	// Pending are questions of kind [event.AskPermission] and [event.AskTool] that were open when the process
	// died and will be answered now; only with Resume. The conversation is then in the middle of its prompt,
	// as after Send. What waits for these questions continues when they are answered by their ids; they are
	// not asked again. Idle follows as after any prompt, and Abort works. Everything else of the prompt was
	// interrupted. Questions that the agent no longer knows end with QuestionClosed; if it knows none of
	// them, an aborted Idle follows.
	Pending []event.Question
}

// Conversation is a session as the agent sees it. It is safe for concurrent use. Calls fail at once if the
// process has ended.
type Conversation interface {
	// Send sends a prompt to the agent and returns when the agent has accepted it. Call it only while the
	// agent is idle, except for steering prompts: then Idle does not come before the agent has read the
	// prompt, or the error is [fault.ErrIdle] because the previous prompt has ended.
	Send(ctx context.Context, p event.Prompt) error
	// Abort stops the current work of the agent; Idle follows if there was any.
	Abort(ctx context.Context) error
	// Answer answers an [event.QuestionAsked]. The model sees the reason of a refusal, also for questions of
	// kind [event.AskInput].
	Answer(ctx context.Context, q event.Question, a event.Answer) error
	// SetModel changes the model, starting with the next prompt.
	SetModel(ctx context.Context, model string) error
	// Compact makes the agent summarize the conversation to free space in the context window. It returns when
	// that is done and [event.CompactionEnded] was sent, or [fault.ErrNothingToCompact]. Call it only while the agent is idle.
	Compact(ctx context.Context) error
	// Ask asks the model a question about the conversation, outside of it: without tools, in parallel to the agent's work and without
	// a trace or an event. It costs a request to the model.
	Ask(ctx context.Context, question string) (answer string, err error)
	// SignIn starts the sign-in to an MCP server that needs one, and returns the page to visit, or "" if none
	// is needed. [event.ServerChanged] reports its completion.
	SignIn(ctx context.Context, server string) (url string, err error)
	// Extensions lists the extensions that the conversation can use now.
	Extensions(ctx context.Context) (Extensions, error)
	// Working reports whether the agent is working. Waiting for an answer counts as working.
	Working(ctx context.Context) (bool, error)
	// Background reports whether commands are running in the background, which Close would end. It returns an
	// error if that is unknown.
	Background(ctx context.Context) (bool, error)
	// Close closes the conversation; the agent keeps it saved. It must also be called after the end of the process, to release
	// what the driver holds; the error then has no meaning.
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

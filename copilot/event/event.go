// Package event defines what happens in a session: events with their bodies, the prompts and
// questions that they carry, the codec in which the store keeps them, and the masking of
// credentials. It knows neither sessions nor agents.
package event

import (
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot/fault"
	"github.com/copilot-portal/portal/copilot/permission"
)

// Event is one entry of a session's record: something that a viewer who joins
// later needs to know. Events are immutable once recorded.
type Event struct {
	Time  time.Time
	Run   string // the run it belongs to, "" between runs
	Agent string // the sub-agent that did it, "" for the main agent
	Body  Body
}

// Body is what happened. The set of types is closed: they all stand in this file.
type Body interface{ body() }

// The life of a session.
type (
	// SessionOpened begins the record and each reopening.
	SessionOpened struct{ Model, Directory string }
	// SessionClosed is the last event before the record ends.
	SessionClosed struct{}
	// SessionError is a failure inside the session, in its place among the
	// events. The session goes on unless it is closed.
	SessionError struct {
		Kind fault.Kind
		Text string
		Hint string // what to do about it, "" if there is nothing to say; commands stand in backticks
		Exit string // how the agent's process has ended, if that is the failure; see [agent.Agent.Exit]
	}
	// ModelChanged says which model answers from now on.
	ModelChanged struct{ Model string }
	// TitleChanged is a title that the agent found for the session.
	TitleChanged struct{ Title string }
	// PolicyChanged has the rules in force from now on, see [copilot.Session.Rules], and those
	// of them that came from answers, see [copilot.Session.Remembered].
	PolicyChanged struct{ Rules, Remembered permission.Policy }
	// UsageChanged is the fill of the context window, in tokens, and what a
	// prompt to the model that answers costs; see [agent.Model.Multiplier].
	UsageChanged struct {
		Used, Limit int64
		Multiplier  float64
	}
	// ModelCalled is what one answer of a model has used, in tokens. Input
	// includes what came from the vendor's cache.
	ModelCalled struct {
		Model                 string
		Input, Output, Cached int64
	}
	// CompactionStarted says that the agent sums up the conversation to make room
	// in the context window.
	CompactionStarted struct{ Used int64 }
	// CompactionEnded has the tokens before and after, or the reason of a failure.
	CompactionEnded struct {
		Before, After int64
		Summary       string // "" if the agent does not tell it
		Error         string
	}
)

// The life of a run: everything between a prompt and the session being ready
// for the next. There is exactly one RunEnded for each RunStarted.
type (
	// RunStarted begins the run named in [Event.Run].
	RunStarted struct{}
	// RunEnded ends it. Text is the reason of a failure.
	RunEnded struct {
		Outcome Outcome
		Text    string
	}
	// UserMessage is a prompt, as the user wrote it. One that steers comes in
	// the middle of its run.
	UserMessage struct{ Prompt Prompt }
	// QueueChanged has all prompts that wait for their runs. One whose run begins
	// leaves them without another.
	QueueChanged struct{ Waiting []Waiting }
	// TurnStarted and TurnEnded enclose one answer of the model; a run has
	// several when tools are called.
	TurnStarted struct{ ID string }
	// TurnEnded ends the turn.
	TurnEnded struct{ ID string }
)

// Waiting is a prompt that waits for its run.
type Waiting struct {
	Run  string
	Text string // its beginning in one line; "" if the conversation is to be summed up
	By   string // the dialect that it came through, "" if that is not known
}

// Outcome of a run.
type Outcome string

// The outcomes of a run.
const (
	Completed Outcome = "completed"
	Failed    Outcome = "failed"
	Cancelled Outcome = "cancelled"
	// Interrupted is the outcome of a run in whose middle the portal ended.
	Interrupted Outcome = "interrupted"
)

// What the model says. A delta continues the text of its id; the end carries
// the whole text and can stand for its deltas. An end may come without a start.
type (
	// ReasoningStarted precedes the first delta of an id.
	ReasoningStarted struct{ ID string }
	// ReasoningDelta continues a thought.
	ReasoningDelta struct{ ID, Text string }
	// ReasoningEnded has the whole thought.
	ReasoningEnded struct {
		ID, Text string
		Cut      bool // it was cut off with its run: the text is all that was told
	}
	// MessageStarted precedes the first delta of an id.
	MessageStarted struct{ ID string }
	// MessageDelta continues an answer.
	MessageDelta struct{ ID, Text string }
	// MessageEnded has the whole answer; "" when the model only called tools, or
	// says it again under another id.
	MessageEnded struct {
		ID, Text string
		Cut      bool // it was cut off with its run: the text is all that was told
	}
)

// What the agent does.
type (
	// ToolStarted is a tool call. Parent is the call of the sub-agent that made it.
	ToolStarted struct {
		ID, Parent, Name string
		Arguments        json.RawMessage // nil if none
	}
	// ToolOutput is output as it comes.
	ToolOutput struct{ ID, Text string }
	// ToolEnded has a result, an error or both: what a call gave that failed all
	// the same, such as a command that ended with another code than 0.
	ToolEnded struct {
		ID     string
		Result *ToolResult
		Error  *ToolError
	}
)

// ToolResult is what a tool gave back: Content for the model, Detail for people.
type ToolResult struct{ Content, Detail string }

// ToolError says why a tool call failed. Code is the agent's, "" if it has none,
// or [CodeInterrupted] or [CodeExit].
type ToolError struct{ Text, Code string }

// How the agent organizes its work.
type (
	// PlanChanged is the whole plan as it is now.
	PlanChanged struct {
		Text  string // Markdown; "" until the agent has proposed a plan
		Todos []Todo
	}
	// SubagentStarted begins the work of a sub-agent, whose events carry its id
	// in [Event.Agent].
	SubagentStarted struct {
		ID    string
		Call  string // the tool call that started it
		Name  string // its kind
		Title string // for people
	}
	// SubagentEnded ends it.
	SubagentEnded struct {
		ID        string
		Outcome   Outcome
		Error     string // of a failure
		Tokens    int64
		ToolCalls int64
		Duration  time.Duration
	}
)

// ServerChanged is the new state of an MCP server of the session. One that
// needs a sign-in gets it by [copilot.Session.SignIn].
type ServerChanged struct{ Server Server }

// Todo is a step of a plan.
type Todo struct {
	ID, Title, Detail string
	State             TodoState
	After             []string // the ids of those that must be done first
}

// TodoState says how far a step is.
type TodoState string

// The states of a to-do. One that is blocked is pending.
const (
	TodoPending   TodoState = "pending"
	TodoRunning   TodoState = "running"
	TodoCompleted TodoState = "completed"
)

// Questions of the agent and their end.
type (
	// QuestionAsked waits for [copilot.Session.Answer].
	QuestionAsked struct{ Question Question }
	// QuestionClosed ends a question, whoever answered it.
	QuestionClosed struct {
		ID     string
		Kind   QuestionKind
		By     string // the dialect that answered; "" unless Ending is [Answered]
		Ending Ending
		Answer Answer
	}
)

// Notice is something the agent told that has no type of its own here, so that
// nothing is lost.
type Notice struct {
	Kind string // the agent's name for it
	Raw  json.RawMessage
}

// Idle is the agent's word that it has nothing left to do. It ends the run and
// is not recorded itself.
type Idle struct{ Aborted bool }

func (SessionOpened) body() {}

func (SessionClosed) body() {}

func (SessionError) body() {}

func (ModelChanged) body() {}

func (TitleChanged) body() {}

func (PolicyChanged) body() {}

func (UsageChanged) body() {}

func (ModelCalled) body() {}

func (CompactionStarted) body() {}

func (CompactionEnded) body() {}

func (PlanChanged) body() {}

func (SubagentStarted) body() {}

func (SubagentEnded) body() {}

func (ServerChanged) body() {}

func (RunStarted) body() {}

func (RunEnded) body() {}

func (UserMessage) body() {}

func (QueueChanged) body() {}

func (TurnStarted) body() {}

func (TurnEnded) body() {}

func (ReasoningStarted) body() {}

func (ReasoningDelta) body() {}

func (ReasoningEnded) body() {}

func (MessageStarted) body() {}

func (MessageDelta) body() {}

func (MessageEnded) body() {}

func (ToolStarted) body() {}

func (ToolOutput) body() {}

func (ToolEnded) body() {}

func (QuestionAsked) body() {}

func (QuestionClosed) body() {}

func (Notice) body() {}

func (Idle) body() {}

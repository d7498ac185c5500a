// Package copilot is the domain of the portal: sessions with an agent, which all dialects use through the same methods.
//
// A [Host] starts sessions on a pool of agent processes. Everything that happens in a [Session] is an event in its record;
// everything a client does is a method of the session. Clients read the record at their own pace and never wait for each other.
// The package knows no transport and no vendor: an agent is an implementation of [agent.Agent].
package copilot

import (
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// Info is a snapshot of a session, for lists and headers.
type Info struct {
	ID        string
	Origin    string // the dialect that started the session
	Title     string // "" until the agent sends one
	Agent     string // name of the agent that has the conversation; "" for the first one
	Model     string
	Directory string
	State     State
	Created   time.Time
	Changed   time.Time // time of its last change
	Owner     int       // id of another process that holds it; 0 if none
	Usage     Usage
	Run       string        // id of the current run, otherwise of the last; "" if there was none
	Prompts   int           // number so far, without queued ones
	Prompt    string        // start of the last prompt, on one line, masked
	Outcome   event.Outcome // of the last run; "" during a run, before the first one and if unknown
	WaitsFor  string        // what an open question is about, on one line, masked; "" if none waits for a person
	Pinned    bool          // see [Placement]
	Archived  bool          // likewise
	ForkOf    ForkOrigin
}

// Usage is the total usage of a session. Its JSON is stored.
type Usage struct {
	Used       int64   `json:"used,omitzero"`  // of the context window, in tokens
	Limit      int64   `json:"limit,omitzero"` // likewise
	Multiplier float64 `json:"-"`              // of the model; see [agent.Model]
	Calls      int64   `json:"calls,omitzero"` // answers of models, including those to sub-agents
	Input      int64   `json:"input,omitzero"` // tokens of all calls
	Output     int64   `json:"output,omitzero"`
}

// State is the state of a session.
type State string

// The states of a session. [StateClosed] and [StateElsewhere] reject prompts.
const (
	StateIdle    State = "idle"    // ready for a prompt
	StateRunning State = "running" // works on a prompt
	StateQueued  State = "queued"  // its run waits for a slot
	StateWaiting State = "waiting" // a question is open
	StateClosed  State = "closed"  // closed by a client
	// StateElsewhere is the state of a session that another process holds.
	StateElsewhere State = "elsewhere"
)

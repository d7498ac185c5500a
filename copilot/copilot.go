// Package copilot is the domain of the portal: sessions with an agent, and the one door through which every dialect acts on them.
//
// A [Host] starts sessions on a pool of agent processes. Everything that happens in a [Session] is an event in its record;
// everything a client does is a method of the session. Clients read the record at their own pace and never wait for each other.
// The package knows no transport and no vendor: an agent is an implementation of [agent.Agent].
package copilot

import "time"

// Info is a snapshot of a session, for lists and headers.
type Info struct {
	ID        string
	Origin    string // the dialect that started it
	Title     string // "" until the agent has found one
	Model     string
	Directory string
	State     State
	Created   time.Time
	Changed   time.Time // when something happened in it last
	Owner     int       // the other process that holds it; 0 if none
	Usage     Usage
	Run       string // the id of the current run, else of the last; "" if there was none
	Prompts   int    // so far, without queued ones
	Prompt    string // the beginning of the last prompt, in one line, masked
}

// Usage is what a session has used so far.
type Usage struct {
	Used, Limit   int64   // of the context window, in tokens
	Multiplier    float64 // of the model; see [agent.Model]
	Calls         int64   // answers of models, those to sub-agents included
	Input, Output int64   // tokens of all calls
}

// State of a session.
type State string

// The states of a session. [StateClosed] and [StateElsewhere] refuse prompts.
const (
	StateIdle    State = "idle"    // ready for a prompt
	StateRunning State = "running" // works on one
	StateQueued  State = "queued"  // its run waits for a slot
	StateWaiting State = "waiting" // a question is open
	StateClosed  State = "closed"  // closed by a client
	// StateElsewhere is the state of a session that another process holds.
	StateElsewhere State = "elsewhere"
)

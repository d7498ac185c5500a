// Package copilot is the domain of the portal: sessions with an agent, what
// happens in them, and the one door through which every dialect acts on them.
//
// A [Host] starts sessions on a [Pool] of agent processes. Whatever happens in
// a [Session] is an [Event] in its record; whatever a client does is a method of
// the session. Clients read the record at their own pace and never wait for
// each other. The package knows no transport and no vendor: an agent is
// whatever implements [Agent].
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
	Owner     int       // the other process that works with it; 0 if none
	Usage     Usage
	Run       string // the id of the current run, else of the last; "" if there was none
	Prompts   int    // that were given so far, but for those that wait
	Prompt    string // the last of them, in one line, as it is recorded; cut off if it is long
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
	StateQueued  State = "queued"  // has one that waits, as too many others are worked on
	StateWaiting State = "waiting" // a question is open
	StateClosed  State = "closed"  // ended by a client
	// StateElsewhere is that of a session which another process of the portal works with.
	StateElsewhere State = "elsewhere"
)

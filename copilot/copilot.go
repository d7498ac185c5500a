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

// Model is a language model that a session can use.
type Model struct {
	ID   string // what a client sends to choose it; may contain "/"
	Name string // for people
	// Multiplier is the billing multiplier: 1 when unknown, 0 when the agent's
	// vendor bills nothing (own providers, the demo).
	Multiplier float64
	Context    int64 // tokens that its context window has; 0 when unknown
	Vision     bool  // it can look at images
}

// Health is what is known of the agent without starting it.
type Health struct {
	State   HealthState
	Version string // of the agent program, "" while unknown
	Message string // what is wrong, for people; "" when nothing is
	Hint    string // what to do about it; commands stand in backticks
}

// HealthState says whether sessions can be expected to work.
type HealthState string

// The states of an agent.
const (
	HealthUnknown   HealthState = "unknown"    // not started yet
	HealthReady     HealthState = "ready"      // started and usable
	HealthMissing   HealthState = "missing"    // the program was not found
	HealthTooOld    HealthState = "too-old"    // the program's version does not fit
	HealthSignedOut HealthState = "signed-out" // works, but without the vendor's own models
	HealthFailed    HealthState = "failed"     // did not start
)

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
	Multiplier    float64 // of the model; see [Model]
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

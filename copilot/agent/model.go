package agent

// Model is a language model that a session can use.
type Model struct {
	ID   string // what a client sends to choose it; may contain "/"
	Name string // for people
	// Agent is the name of the agent that has the model; "" for the first one. The host of sessions sets it.
	Agent string
	// Multiplier is the billing multiplier: 1 if unknown, 0 if GitHub bills nothing (own providers, other agents, the demo).
	Multiplier float64
	Context    int64 // size of its context window in tokens; 0 if unknown
	Vision     bool  // whether it accepts images
}

// DefaultModel is the name, behind that of its agent and a slash, of the model that an agent uses by itself, as long as its models are not
// known. Later it means the first model that the agent lists.
const DefaultModel = "default"

// Health is the known state of the agent. Reading it starts nothing.
type Health struct {
	State   HealthState
	Version string // of the agent program, "" if unknown
	Message string // the problem, for people; "" if there is none
	Hint    string // what to do about it, with commands in backticks
}

// HealthState is the state of an agent with respect to new sessions.
type HealthState string

// The states of an agent.
const (
	HealthUnknown   HealthState = "unknown"    // not started yet
	HealthStarting  HealthState = "starting"   // starts for the first time, and takes long
	HealthReady     HealthState = "ready"      // started and usable
	HealthMissing   HealthState = "missing"    // the program was not found
	HealthTooOld    HealthState = "too-old"    // the program's version is not supported
	HealthSignedOut HealthState = "signed-out" // usable, but without the vendor's own models
	HealthFailed    HealthState = "failed"     // did not start
)

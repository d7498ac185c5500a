package agent

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

package agent

import (
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// Account is who the agent works for at its vendor.
type Account struct {
	SignedIn bool
	Login    string  // "" when not signed in, or not told
	Host     string  // of the vendor's service
	Message  string  // the agent's own words about it
	Quotas   []Quota // none when not signed in, or not told
}

// Quota is what the account may use.
type Quota struct {
	Name        string // the vendor's name of what is counted
	Used, Limit int64  // requests
	Unlimited   bool
	Remaining   float64   // in percent
	Reset       time.Time // zero if not told
}

// Extensions are what the user has added to the agent.
type Extensions struct {
	Servers []event.Server
	Skills  []Skill
}

// Skill is a set of instructions that the agent reads when it needs them.
type Skill struct {
	Name, Description string
	Source            string // builtin, personal, project, plugin …
	Path              string // of its file, "" if not told
	Enabled           bool
	Invocable         bool // by the user, by its name
}

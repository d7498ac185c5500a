package agent

import (
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// Account is the account that the agent uses at its vendor.
type Account struct {
	SignedIn bool
	Login    string  // "" if not signed in or unknown
	Host     string  // of the vendor's service
	Message  string  // explanation by the agent
	Quotas   []Quota // none if not signed in or unknown
}

// Quota is a usage limit of the account.
type Quota struct {
	Name        string // the vendor's name of the resource
	Used, Limit int64  // requests
	Unlimited   bool
	Remaining   float64   // in percent
	Reset       time.Time // zero if unknown
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
	Path              string // of its file, "" if unknown
	Enabled           bool
	Invocable         bool // whether the user can invoke it by name
}

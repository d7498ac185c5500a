package copilot

import "time"

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
	Servers []Server
	Skills  []Skill
}

// Server is an MCP server.
type Server struct {
	Name   string
	State  ServerState
	Source string // where it is configured: user, workspace, plugin, builtin
	// Transport is how it is spoken to: stdio, http, sse, memory; "" if not told.
	Transport string
	Error     string // of a failed one
}

// ServerState says whether an MCP server can be used.
type ServerState string

// The states of an MCP server. Those of a session are connected, or not.
const (
	ServerConfigured ServerState = "configured" // no session has started it yet
	ServerConnected  ServerState = "connected"
	ServerPending    ServerState = "pending"
	ServerFailed     ServerState = "failed"
	ServerSignIn     ServerState = "needs-sign-in"
	ServerDisabled   ServerState = "disabled"
)

// Skill is a set of instructions that the agent reads when it needs them.
type Skill struct {
	Name, Description string
	Source            string // builtin, personal, project, plugin …
	Path              string // of its file, "" if not told
	Enabled           bool
	Invocable         bool // by the user, by its name
}

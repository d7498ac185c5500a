package agent

import (
	"context"

	"github.com/copilot-portal/portal/copilot/event"
)

// Extensions are what the user has added to the agent.
type Extensions struct {
	Servers []event.Server
	Skills  []Skill
	Agents  []CustomAgent // only those of [Agent.Extensions]
}

// Skill is a set of instructions that the agent reads when it needs them.
type Skill struct {
	Name, Description string
	Source            string // builtin, personal, project, plugin …
	Path              string // of its file, "" if unknown
	Enabled           bool
	Invocable         bool // whether the user can invoke it by name
}

// CustomAgent is an agent that the user has defined, with its own instructions.
type CustomAgent struct {
	Name, Description string
	Source            string   // user, project, plugin …
	Path              string   // of its file, "" if unknown
	Model             string   // that it prefers, "" for any
	Tools             []string // that it may use; nil for all
}

// ExtensionStore changes the extensions that the agent stores for the user. Conversations that are opened afterwards, by any process, use
// what it stores; open ones keep what they have. If the agent stores none, all methods but Servers return an error of kind
// [fault.Invalid].
type ExtensionStore interface {
	// Servers lists the MCP servers of the user, by name. The values of Env and Headers are empty, because they may be secrets.
	Servers(ctx context.Context) ([]ServerConfig, error)
	// AddServer adds a server. Errors: kind [fault.Invalid] if the name is taken or the configuration is refused.
	AddServer(ctx context.Context, c ServerConfig) error
	// RemoveServer removes a server. Errors: kind [fault.Invalid] if there is none.
	RemoveServer(ctx context.Context, name string) error
	// EnableServer makes conversations start a server, or ignore it. The name need not be known.
	EnableServer(ctx context.Context, name string, enabled bool) error
	// EnableSkill makes the agent offer a skill, or ignore it. The name need not be known.
	EnableSkill(ctx context.Context, name string, enabled bool) error
}

package server

import (
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/agent/acp"
	"github.com/copilot-portal/portal/copilot/agent/ndjson"
	"github.com/copilot-portal/portal/copilot/agent/sdk"
	"github.com/copilot-portal/portal/handlers/mcp"
)

// Agent is an agent besides the first one, which is the Copilot CLI or AgentCommand. The ids of its models begin with its name and a slash.
type Agent struct {
	Name     string   `mapstructure:"name"`
	Command  string   `mapstructure:"command"` // "": that of the known agent with this name
	Args     []string `mapstructure:"args"`
	Env      []string `mapstructure:"env" secret:"true"` // "NAME=value", besides the portal's own
	Auth     string   `mapstructure:"auth"`              // id of a method to sign in with; "": none
	Protocol string   `mapstructure:"protocol"`

	TrustDirectories bool `mapstructure:"trust_directories"` // of a known agent
}

// The values of protocol.
const (
	protocolACP = "acp" // Agent Client Protocol
	protocolCLI = "cli" // Copilot CLI Protocol
)

// firstAgent is the name that stands for the first agent where people read it.
const firstAgent = "copilot"

// decodeAgents decodes the short form of agents: the names of known ones.
func decodeAgents(to reflect.Type, value any) any {
	name, isText := value.(string)
	switch {
	case !isText:
	case to == reflect.TypeFor[Agent]():
		return map[string]any{"name": strings.TrimSpace(name)}
	case to == reflect.TypeFor[[]Agent]():
		return splitList(name)
	}
	return value
}

// checkAgents validates the agents, and reports each fault.
func (c *Config) checkAgents(fault func(format string, args ...any)) {
	taken := map[string]string{firstAgent: "the name of the first agent", demoProvider: "reserved by the portal"}
	for _, p := range c.Providers {
		taken[p.Name] = "the name of a provider"
	}
	for i := range c.Agents {
		a, at := &c.Agents[i], fmt.Sprintf("agents[%d].", i)
		a.check(func(format string, args ...any) { fault(at+format, args...) })
		if why := taken[a.Name]; why != "" {
			fault(at+"name: %q is %s", a.Name, why)
		}
		taken[a.Name] = "already used"
	}
	if c.Sandbox && len(c.Agents) > 0 {
		fault("sandbox: only the Copilot CLI can run in a sandbox; remove agents")
	}
}

var agentName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

func (a *Agent) check(fault func(format string, args ...any)) {
	if !agentName.MatchString(a.Name) {
		fault("name: %q must have lower-case letters, digits and hyphens, and begin with a letter", a.Name)
	}
	if a.Protocol == "" {
		a.Protocol = protocolACP
	}
	switch {
	case a.Protocol != protocolACP && a.Protocol != protocolCLI:
		fault("protocol: %q is neither %s nor %s", a.Protocol, protocolACP, protocolCLI)
	case a.Protocol == protocolCLI && a.Auth != "":
		fault("auth: agents of the protocol %s have no methods to sign in with", protocolCLI)
	}
	known := a.isKnown()
	if a.Command == "" && !known {
		fault("command: it is required, because %q is none of the agents that the portal knows%s", a.Name, knownAgents())
	}
	if a.TrustDirectories && !known {
		fault("trust_directories: it is for the agents that the portal knows%s; others use what they find", knownAgents())
	}
	if slices.ContainsFunc(a.Env, func(variable string) bool { return strings.Index(variable, "=") < 1 }) {
		fault("env: a variable must be given as NAME=value")
	}
}

// isKnown reports whether the portal knows the agent.
func (a *Agent) isKnown() bool {
	_, known := acp.FindPreset(a.Name)
	return known && a.Protocol == protocolACP
}

// knownAgents lists the names of known agents in brackets.
func knownAgents() string {
	var names []string
	for _, p := range acp.Presets() {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return ""
	}
	return " (" + strings.Join(names, ", ") + ")"
}

// command returns the program and its arguments.
func (a *Agent) command() []string {
	if a.Command == "" {
		known, _ := acp.FindPreset(a.Name)
		return slices.Concat(known.Command, a.Args)
	}
	return append([]string{a.Command}, a.Args...)
}

// environ returns the environment of the program. Of variables that occur repeatedly, the last one counts.
func (a *Agent) environ(c Config) []string {
	return slices.Concat(agentEnvironment(os.Environ()), []string{mcp.DepthVariable + "=" + strconv.Itoa(c.Depth+1)}, a.Env)
}

// namedDriver is the driver of an agent besides the first one.
type namedDriver interface {
	driver
	Models() []agent.Model
}

// otherAgent is an agent besides the first one, with its driver.
type otherAgent struct {
	namedDriver

	config Agent
}

// newOthers returns the agents besides the first one, which keep their files in a directory.
func newOthers(c Config, directory, version string, log *slog.Logger) []otherAgent {
	list := make([]otherAgent, 0, len(c.Agents))
	for _, a := range c.Agents {
		list = append(list, otherAgent{a.driver(c, directory, version, log.With("agent", a.Name)), a})
	}
	return list
}

func (a *Agent) driver(c Config, directory, version string, log *slog.Logger) namedDriver {
	command := a.command()
	if a.Command == "" && command[0] == firstAgent { // the portal's own Copilot CLI, if it has one
		if path, err := sdk.New(driverOptions(c, nil, log)).Path(); err == nil {
			command[0] = path
		}
	}
	if a.Protocol == protocolCLI {
		return ndjson.New(ndjson.Options{Name: a.Name, Command: command, Env: a.environ(c), Version: version, Log: log})
	}
	return acp.New(acp.Options{
		Name: a.Name, Command: command, Env: a.environ(c), Auth: a.Auth, Version: version, Log: log,
		Saved: filepath.Join(directory, a.Name), TrustDirectories: a.TrustDirectories,
	})
}

// named describes the agent to the host of sessions.
func (a otherAgent) named(c Config) copilot.NamedAgent {
	pool := c.Pool.options()
	if a.config.Protocol == protocolCLI {
		pool.StartTimeout = max(pool.StartTimeout, ndjson.StartTimeout)
	}
	return copilot.NamedAgent{
		Name: a.config.Name, Launch: a.Launch, Health: a.Health, Models: a.Models, Capabilities: a.Capabilities, Pool: pool,
	}
}

// drivers are the drivers of all agents.
type drivers struct {
	first  driver
	others []otherAgent
	remove func() // removes temporary files, after everything has ended
}

// newDrivers returns the drivers of all agents. The caller must call remove after everything that they start.
func newDrivers(c Config, first driver, version string, log *slog.Logger) drivers {
	d := drivers{first: first, remove: func() {}}
	if len(c.Agents) == 0 {
		return d
	}
	directory := filepath.Join(c.DataDir, "agents")
	if c.Ephemeral || c.DataDir == "" {
		temporary, err := os.MkdirTemp("", "portal-agents-")
		if err != nil {
			log.Error("there is no directory for the files of agents, so they are left out", "err", err)
			return d
		}
		directory, d.remove = temporary, func() { _ = os.RemoveAll(temporary) } // what is left, the system removes
	}
	d.others = newOthers(c, directory, version, log)
	return d
}

// memory returns the memory of all processes in bytes, by process id.
func (d drivers) memory() map[int]int64 {
	all := maps.Clone(d.first.Memory())
	if all == nil {
		all = map[int]int64{}
	}
	for _, a := range d.others {
		maps.Copy(all, a.Memory())
	}
	return all
}

// named describes the agents besides the first one to the host of sessions.
func (d drivers) named(c Config) []copilot.NamedAgent {
	list := make([]copilot.NamedAgent, 0, len(d.others))
	for _, a := range d.others {
		list = append(list, a.named(c))
	}
	return list
}

package agenttest

import (
	"testing"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// Subject is an agent under test.
type Subject struct {
	// Machine creates an environment for agents. It is closed at the end of the test.
	Machine func(*testing.T) Machine
	// Virtual says that the agent runs in bubbles of testing/synctest. Then every rule gets its own machine;
	// otherwise they share one, with one agent, and some run in parallel.
	Virtual bool
	// Write returns a prompt that makes the model play scenes. It contains the texts of [Say].
	Write func(...Scene) string
	// Model is the default model; Other is a model to change to.
	Model, Other string
	// OwnTool is a built-in tool of the agent.
	OwnTool string
	// Mode returns the mode in which a prompt reached the model, from the output of [Show].
	Mode func(shown string) event.Mode
	// Can lists the capabilities of the agent.
	Can []agent.Capability
}

// Machine is an environment in which agents run. What they save is available to later ones.
type Machine struct {
	Launch agent.Launch
	// Kill kills an agent's process.
	Kill func(agent.Agent)
}

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
	Can []Capability
}

// Machine is an environment in which agents run. What they save is available to later ones.
type Machine struct {
	Launch agent.Launch
	// Kill kills an agent's process.
	Kill func(agent.Agent)
}

// Capability is a feature that not every agent has.
type Capability string

// The capabilities.
const (
	Permissions Capability = "permissions" // the agent asks before it acts
	Reasoning   Capability = "reasoning"   // the model's thoughts are events
	Questions   Capability = "questions"   // the model can ask the user
	ClientTools Capability = "tools"       // clients can provide tools
	Todos       Capability = "todos"       // the model keeps a list of to-dos
	Modes       Capability = "modes"       // a prompt has a mode
	Approval    Capability = "approval"    // in plan mode, the user approves a plan
	Attachments Capability = "attachments" // the model sees them
	Steering    Capability = "steering"    // a prompt can join a run
	Resuming    Capability = "resuming"    // a saved conversation can be resumed
	Switching   Capability = "switching"   // the model can be changed
	Compaction  Capability = "compaction"  // the conversation can be summarized
	Subagents   Capability = "sub-agents"
	Usage       Capability = "usage"      // tokens are counted
	Continuing  Capability = "continuing" // questions survive the death of the process
	Forking     Capability = "forking"    // a saved conversation can be copied
	Forgetting  Capability = "forgetting" // a saved conversation can be deleted
	Asking      Capability = "asking"     // the model can be asked outside of the conversation
	Storing     Capability = "storing"    // it stores MCP servers and skills
)

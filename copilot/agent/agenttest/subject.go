package agenttest

import (
	"testing"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// Subject is an agent under test.
type Subject struct {
	// Machine makes a place to start agents on. It is over at the end of the test.
	Machine func(*testing.T) Machine
	// Virtual says that the agent lives in the bubbles of testing/synctest. Then
	// every rule gets a machine of its own, else they share one and an agent on it,
	// some at the same time.
	Virtual bool
	// Write gives the text of a prompt that makes the model play scenes. The texts
	// of [Say] stand in it.
	Write func(...Scene) string
	// Model answers unless another is named; Other can be changed to.
	Model, Other string
	// OwnTool is a tool of the agent itself.
	OwnTool string
	// Mode reads from what [Show] says in which mode the prompt reached the model.
	Mode func(shown string) event.Mode
	// Can is what the agent can do besides the rest.
	Can []Capability
}

// Machine is where agents run: what they save is there for the next one.
type Machine struct {
	Launch agent.Launch
	// Kill ends an agent's process by force.
	Kill func(agent.Agent)
}

// Capability is something that not every agent can do.
type Capability string

// The abilities.
const (
	Permissions Capability = "permissions" // the agent asks before it acts
	Reasoning   Capability = "reasoning"   // thoughts of the model are told
	Questions   Capability = "questions"   // the model can ask the user
	ClientTools Capability = "tools"       // clients can give tools to the agent
	Todos       Capability = "todos"       // the model keeps a list of to-dos
	Modes       Capability = "modes"       // a prompt has a mode
	Approval    Capability = "approval"    // in the mode plan, a plan is put to the user
	Attachments Capability = "attachments" // the model is shown them
	Steering    Capability = "steering"    // a prompt can be put into a run
	Resuming    Capability = "resuming"    // a saved conversation can be taken up
	Switching   Capability = "switching"   // the model can be changed
	Compaction  Capability = "compaction"  // the conversation can be summed up
	Subagents   Capability = "sub-agents"
	Usage       Capability = "usage"      // tokens are counted
	Continuing  Capability = "continuing" // what was asked when the process died can be answered
	Forking     Capability = "forking"    // a saved conversation can be copied
	Forgetting  Capability = "forgetting" // a saved conversation can be deleted
)

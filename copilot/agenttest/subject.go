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
	Can []Ability
}

// Machine is where agents run: what they save is there for the next one.
type Machine struct {
	Launch agent.Launch
	// Kill ends an agent's process by force.
	Kill func(agent.Agent)
}

// Ability is something that not every agent can do.
type Ability string

// The abilities.
const (
	Permissions Ability = "permissions" // the agent asks before it acts
	Reasoning   Ability = "reasoning"   // thoughts of the model are told
	Questions   Ability = "questions"   // the model can ask the user
	ClientTools Ability = "tools"       // clients can give tools to the agent
	Todos       Ability = "todos"       // the model keeps a list of to-dos
	Modes       Ability = "modes"       // a prompt has a mode
	Approval    Ability = "approval"    // in the mode plan, a plan is put to the user
	Attachments Ability = "attachments" // the model is shown them
	Steering    Ability = "steering"    // a prompt can be put into a run
	Resuming    Ability = "resuming"    // a saved conversation can be taken up
	Switching   Ability = "switching"   // the model can be changed
	Compaction  Ability = "compaction"  // the conversation can be summed up
	Subagents   Ability = "sub-agents"
	Usage       Ability = "usage"      // tokens are counted
	Continuing  Ability = "continuing" // what was asked when the process died can be answered
	Forking     Ability = "forking"    // a saved conversation can be copied
	Forgetting  Ability = "forgetting" // a saved conversation can be deleted
)

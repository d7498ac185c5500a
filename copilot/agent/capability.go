package agent

import "github.com/copilot-portal/portal/copilot/fault"

// Capability is a feature that not every agent has. Operations of the other features fail with kind [fault.Invalid].
type Capability string

// The capabilities.
const (
	Permissions Capability = "permissions" // the agent asks before it acts
	Reasoning   Capability = "reasoning"   // the model's thoughts are events
	Questions   Capability = "questions"   // the model can ask the user
	ClientTools Capability = "tools"       // clients can provide tools
	Servers     Capability = "servers"     // a conversation can have MCP servers of its own
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
	Context     Capability = "context"    // the agent reports how full the context window is
	Reasons     Capability = "reasons"    // the model reads why a permission was refused, and continues
	Failures    Capability = "failures"   // errors of the model are errors, not text
	Continuing  Capability = "continuing" // questions survive the death of the process
	Forking     Capability = "forking"    // a saved conversation can be copied
	Forgetting  Capability = "forgetting" // a saved conversation can be deleted
	Asking      Capability = "asking"     // the model can be asked outside of the conversation
	Storing     Capability = "storing"    // it stores MCP servers and skills
)

// Capabilities lists all of them.
func Capabilities() []Capability {
	return []Capability{
		Permissions, Reasoning, Questions, ClientTools, Todos, Modes, Approval, Attachments, Steering, Resuming, Switching, Compaction,
		Subagents, Usage, Context, Reasons, Failures, Continuing, Forking, Forgetting, Asking, Storing, Servers,
	}
}

// Operation says what a client does with a capability, for [Cannot].
func (c Capability) Operation() string {
	switch c { //nolint:exhaustive // clients do nothing with the others
	case ClientTools:
		return "use client tools"
	case Modes:
		return "work in another mode than interactive"
	case Attachments:
		return "read files, directories and images"
	case Steering:
		return "take a prompt into a run"
	case Switching:
		return "change the model of a conversation"
	case Compaction:
		return "compact a conversation"
	case Forking:
		return "copy a conversation"
	case Asking:
		return "be asked outside of its conversation"
	case Servers:
		return "use MCP servers of a client"
	case Storing:
		return "change its MCP servers and skills"
	}
	return "use " + string(c)
}

// SigningIn is the operation of signing in to an MCP server, for [Cannot]. It needs [Storing].
const SigningIn = "sign in to MCP servers"

// Cannot returns the error for an operation of which an agent is not capable. The name may be "".
func Cannot(name, operation string) error {
	if name == "" {
		return fault.Errorf(fault.Invalid, "this agent cannot %s", operation)
	}
	return fault.Errorf(fault.Invalid, "the agent %s cannot %s", name, operation)
}

package agent

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

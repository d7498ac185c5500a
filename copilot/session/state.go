package session

// State is where a session is in its life. It is in exactly one.
type State int

// The states of a session.
const (
	New        State = iota // nobody uses it yet
	Active                  // it takes prompts
	Suspending              // nobody used it for long; Suspended once its conversation is released
	Stopping                // the portal stops; Suspended once its run has ended or waits for an answer that can be given later
	Closing                 // a client closed it; Closed once its run has ended
	Suspended               // only stored; its next use makes it Active
	Elsewhere               // another process is active with it
	Closed                  // only stored; Active when a client reopens it
)

// Resumes says whether the next use of the session makes it active again.
func (s State) Resumes() bool {
	return s == Suspending || s == Stopping || s == Suspended || s == Elsewhere
}

// AtRest says whether this process does nothing with the session.
func (s State) AtRest() bool { return s == New || s == Suspended || s == Elsewhere || s == Closed }

// Phase is how far a run has come. It is in exactly one.
type Phase int

// The phases of a run, in the order in which most runs pass them. Whether a run waits for a person is a matter of
// the open questions: see [Machine.WaitsForPerson].
const (
	Queued         Phase = iota // it waits for the runs before it
	Starting                    // it is the current run and asks for a slot
	AwaitingSlot                // as many runs as allowed are at work
	AwaitingAnswer              // recovered: the agent is started when it can be given an answer
	Opening                     // the conversation is opened, or found open
	Compacting                  // the agent summarizes the conversation
	Sending                     // the agent is given the prompt
	Working                     // the agent has it
	Finishing                   // the agent has it and takes no more prompts that steer
	Aborting                    // the agent is told to stop
	Releasing                   // the conversation is released, then the run ends
	Ended
)

// History is what the agent has saved of a conversation.
type History int

// The kinds of history.
const (
	NeverOpened History = iota // the agent has never heard of it
	Opened                     // the agent was asked to open it
	HasContent                 // the agent has said or done something in it
)

// Step is something slow that the session's goroutine does for the machine, one at a time. Each ends with the
// input of the machine that is named here.
type Step int

// The steps.
const (
	NoStep              Step = iota
	AcquireSlot              // [Machine.SlotAcquired]
	OpenConversation         // [Machine.ConversationOpened]
	Compact                  // [Machine.Compacted]
	SendPrompt               // [Machine.Sent]
	AbortRun                 // [Machine.Aborted]
	ReleaseConversation      // [Machine.Released]
	Finish                   // [Machine.LeaveRunOpen] or [Machine.Finished]
)

package session

// State is the state of a session.
type State int

// The states of a session.
const (
	New        State = iota // not used yet
	Active                  // accepts prompts
	Suspending              // unused for long; becomes Suspended when its conversation is released
	Stopping                // the portal stops; becomes Suspended when its run has ended or waits for an answer that can be given later
	Closing                 // a client closed it; becomes Closed when its run has ended
	Suspended               // only stored; the next use makes it Active
	Elsewhere               // held by another process
	Closed                  // only stored; becomes Active when a client reopens it
)

// Resumes reports whether the next use of the session activates it.
func (s State) Resumes() bool {
	return s == Suspending || s == Stopping || s == Suspended || s == Elsewhere
}

// AtRest reports whether the session is inactive in this process.
func (s State) AtRest() bool { return s == New || s == Suspended || s == Elsewhere || s == Closed }

// Phase is the phase of a run.
type Phase int

// The phases of a run, in the order in which most runs pass them. Whether a run waits for a person depends on
// the open questions: see [Machine.WaitsForPerson].
const (
	Queued         Phase = iota // waits for the runs before it
	Starting                    // the current run, without a slot
	AwaitingSlot                // waits for a slot
	AwaitingAnswer              // recovered; waits for an answer before it starts the agent
	Opening                     // opens the conversation, unless it is open
	Compacting                  // the agent summarizes the conversation
	Sending                     // the agent is given the prompt
	Working                     // the agent works on the prompt
	Finishing                   // the agent works on the prompt and accepts no more prompts that steer
	Aborting                    // the agent is being aborted
	Releasing                   // the conversation is being released; then the run ends
	Ended
)

// History is what the agent has saved of a conversation.
type History int

// The kinds of history.
const (
	NeverOpened History = iota // the agent does not know the conversation
	Opened                     // the agent was asked to open it
	HasContent                 // the agent has said or done something in it
)

// Step is something slow that the session's goroutine does for the machine, one at a time. Each step ends with the
// input named here.
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

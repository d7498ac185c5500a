package session

import "github.com/copilot-portal/portal/copilot/event"

// Effect is a consequence of an input. Effects are carried out in order, under the lock that guards the machine; none of
// them waits.
type Effect interface{ effect() }

// Record appends an event to the record.
type Record struct {
	Run   string // "" outside of runs
	Agent string // the sub-agent, "" for the agent itself
	Body  event.Body
}

// Begin starts a step. None is going on.
type Begin struct {
	Step Step
	Run  *Run // that it is for; nil for none
}

// Interrupt cancels the step that is going on, unless it ends something, and hurries prompts on their way to the agent.
type Interrupt struct{}

// Deliver gives the agent a prompt that steers a run. [Machine.Delivered] follows.
type Deliver struct {
	Run          *Run
	Conversation int
	Prompt       event.Prompt
}

// Reply gives the agent the answer to a question. [Machine.ReplyFailed] follows if it does not reach the agent.
type Reply struct {
	Question event.Question
	Answer   event.Answer
}

// WatchQuestion starts the timers of a question.
type WatchQuestion struct{ Question event.Question }

// UnwatchQuestion stops the timers of a question.
type UnwatchQuestion struct{ ID string }

// ReplaceTools gives the session the tools that a prompt brings along.
type ReplaceTools struct{ Tools []event.Tool }

// Slot takes a slot for the current run, whether one is free or not, or returns the one it has.
type Slot struct{ Held bool }

// Changed says that the store has to learn of a change that no event tells; Queue, that clients have to learn which
// prompts wait.
type Changed struct{ Queue bool }

func (Record) effect()          {}
func (Begin) effect()           {}
func (Interrupt) effect()       {}
func (Deliver) effect()         {}
func (Reply) effect()           {}
func (WatchQuestion) effect()   {}
func (UnwatchQuestion) effect() {}
func (ReplaceTools) effect()    {}
func (Slot) effect()            {}
func (Changed) effect()         {}

package session

import "github.com/copilot-portal/portal/copilot/event"

// Effect is a consequence of an input. Effects are performed in order, under the lock that guards the machine; none of
// them waits.
type Effect interface{ effect() }

// Record appends an event to the record.
type Record struct {
	Run   string // "" outside of runs
	Agent string // the sub-agent, "" for the agent itself
	Body  event.Body
}

// Begin starts a step. No other step is in progress.
type Begin struct {
	Step Step
	Run  *Run // the step's run; nil for none
}

// Interrupt cancels the current step, unless it ends something, and hurries prompts on their way to the agent.
type Interrupt struct{}

// Deliver gives the agent a prompt that steers a run. [Machine.Delivered] follows.
type Deliver struct {
	Run          *Run
	Conversation int
	Prompt       event.Prompt

	from *Run // the queued run whose prompt it is, nil for none
}

// Reply gives the agent the answer to a question. If that fails, [Machine.ReplyFailed] follows.
type Reply struct {
	Question event.Question
	Answer   event.Answer
}

// WatchQuestion starts the timers of a question.
type WatchQuestion struct{ Question event.Question }

// UnwatchQuestion stops the timers of a question.
type UnwatchQuestion struct{ ID string }

// ReplaceTools sets the session's tools to those of a prompt.
type ReplaceTools struct{ Tools []event.Tool }

// Slot acquires a slot for the current run even if none is free, or returns its slot.
type Slot struct{ Held bool }

// Changed reports a change without an event, which must be stored. Queue reports that the queued prompts have changed during
// Run, which clients must learn.
type Changed struct {
	Queue bool
	Run   string // the current run; "" for none
}

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

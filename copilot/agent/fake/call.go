package fake

import (
	"context"
	"slices"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// Method identifies a method of an agent.
type Method string

// The methods of [agent.Agent] and [agent.Conversation], and the launch.
const (
	Launch     Method = "Launch"
	Models     Method = "Models"
	Stop       Method = "Stop"
	Open       Method = "Open"
	Send       Method = "Send"
	Abort      Method = "Abort"
	Answer     Method = "Answer"
	SetModel   Method = "SetModel"
	Compact    Method = "Compact"
	Account    Method = "Account"
	Extensions Method = "Extensions"
	SignOut    Method = "SignOut"
	SignIn     Method = "SignIn"
	Close      Method = "Close"
	Fork       Method = "Fork"
	Forget     Method = "Forget"
	Ping       Method = "Ping"
	Working    Method = "Working"
	Background Method = "Background"
	Ask        Method = "Ask"

	Servers      Method = "Servers"
	AddServer    Method = "AddServer"
	RemoveServer Method = "RemoveServer"
	EnableServer Method = "EnableServer"
	EnableSkill  Method = "EnableSkill"
)

// Call is a call that an agent received. Only the fields of its method are set.
type Call struct {
	Process     int // the number of its launch, from 1
	Method      Method
	Session     string
	Opening     agent.Opening // of Open
	Prompt      string        // of Send, as the next three; the question of Ask
	Steer       bool
	Mode        event.Mode
	Attachments []event.Attachment
	Question    event.Question // of Answer
	Answer      event.Answer   // of Answer
	Model       string         // of SetModel
	Server      string         // of SignIn, and of the methods of [agent.ExtensionStore]

	conversation *conversation
}

// Emit sends events in the conversation of the call, even while it is being opened.
func (c Call) Emit(bodies ...event.Body) {
	if c.conversation != nil {
		c.conversation.emitUnasked(bodies)
	}
}

// HangForever is a hook for [Agents.Before] that blocks until the caller gives up or the process dies.
func HangForever(ctx context.Context, _ Call) error {
	<-ctx.Done()
	return ctx.Err()
}

// Calls returns the calls received so far, in order, optionally only those of certain methods.
func (a *Agents) Calls(of ...Method) []Call {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(a.calls), func(c Call) bool {
		return len(of) > 0 && !slices.Contains(of, c.Method)
	})
}

// Count returns the number of calls of a method.
func (a *Agents) Count(m Method) int { return len(a.Calls(m)) }

// received records a call and runs Before.
func (a *Agents) received(ctx context.Context, c Call) error {
	a.mu.Lock()
	a.calls = append(a.calls, c)
	before := a.watched.before
	if c.Method != Ping && c.Method != Working && c.Method != Background { // a test may change Before while probes go on
		before = a.Before
	}
	a.mu.Unlock()
	if before == nil {
		return nil
	}
	return before(ctx, c)
}

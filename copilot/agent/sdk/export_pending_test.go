package sdk

import (
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// NewPending is a mute conversation in which questions are pending.
func NewPending(sink agent.Sink, pending ...event.Question) *Mute {
	a := &Agent{done: make(chan struct{})}
	return &Mute{newConversation(a, agent.Opening{Directory: "/project", Resume: true, Pending: pending}, nil, sink)}
}

// Theirs is the id by which the CLI knows a question.
func (m *Mute) Theirs(id string) string { return m.c.asked(id) }

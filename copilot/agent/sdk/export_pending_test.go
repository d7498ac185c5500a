package sdk

import (
	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
)

// NewPending returns a disconnected conversation with pending questions.
func NewPending(sink agent.Sink, pending ...event.Question) *Disconnected {
	a := &Agent{done: make(chan struct{})}
	return &Disconnected{newConversation(a, agent.Opening{Directory: "/project", Resume: true, Pending: pending}, nil, sink)}
}

// VendorID returns the CLI's id of a question.
func (m *Disconnected) VendorID(id string) string { return m.c.asked(id) }

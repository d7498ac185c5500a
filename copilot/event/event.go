// Package event defines what happens in a session: events with their bodies, the prompts and questions in them, the
// codec for the store, and the masking of credentials. It does not know sessions or agents.
package event

import "time"

// Event is one entry of a session's record: something that a viewer who joins later needs to know. Events are immutable
// once recorded.
type Event struct {
	Time  time.Time
	Run   string // run that it belongs to, "" between runs
	Agent string // sub-agent that caused it, "" for the main agent
	Body  Body
}

// Body is what happened. The set of types is closed: they are in the files body_*.go, and each has a row in [kinds].
// The store keeps a body as JSON with its tags, in the order of its fields.
type Body interface {
	// visit passes the values of the body to a visitor and returns the body as changed by it.
	visit(v visitor) Body
}

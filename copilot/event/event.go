// Package event defines what happens in a session: events with their bodies, the prompts and
// questions that they carry, the codec in which the store keeps them, and the masking of
// credentials. It knows neither sessions nor agents.
package event

import "time"

// Event is one entry of a session's record: something that a viewer who joins
// later needs to know. Events are immutable once recorded.
type Event struct {
	Time  time.Time
	Run   string // the run it belongs to, "" between runs
	Agent string // the sub-agent that did it, "" for the main agent
	Body  Body
}

// Body is what happened. The set of types is closed: they stand in the files body_*.go, and each has a row in [kinds]. The store
// keeps a body as JSON with its tags, in the order of its fields.
type Body interface {
	// visit names what the body holds to a visitor, and returns the body as the visitor leaves it.
	visit(v visitor) Body
}

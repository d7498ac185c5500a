package event

import "github.com/copilot-portal/portal/copilot/journal"

// Record is what happened in a session, numbered from 1. See [journal.Journal]
// for how it is read; only the session appends to it.
type Record = journal.Journal[Event]

// EntryCost is what an event costs in memory besides its texts: the entry, its
// body and their headers, rounded up. In bytes.
const EntryCost = 256

// Group says which events an end can stand for: deltas of a message, of a
// thought, and a tool's output.
func Group(e Event) (key string, end bool) {
	switch b := e.Body.(type) {
	case ReasoningDelta:
		return "r" + b.ID, false
	case ReasoningEnded:
		return "r" + b.ID, true
	case MessageDelta:
		return "m" + b.ID, false
	case MessageEnded:
		return "m" + b.ID, true
	case ToolOutput:
		return "t" + b.ID, false
	case ToolEnded:
		return "t" + b.ID, true
	}
	return "", false
}

// Cost estimates the memory that an event holds, in bytes.
func Cost(e Event) int {
	if text, ok := deltaText(e.Body); ok { // as nearly all events are
		return EntryCost + len(text)
	}
	var found findings
	visit(e.Body, visitor{found: &found})
	return EntryCost + found.bytes
}

// deltaText is the text of a delta; ok is false for other bodies.
func deltaText(b Body) (text string, ok bool) {
	switch b := b.(type) {
	case ReasoningDelta:
		return b.Text, true
	case MessageDelta:
		return b.Text, true
	case ToolOutput:
		return b.Text, true
	}
	return "", false
}

// withText is a delta with another text.
func withText(delta Body, text string) Body {
	switch b := delta.(type) {
	case ReasoningDelta:
		b.Text = text
		return b
	case MessageDelta:
		b.Text = text
		return b
	case ToolOutput:
		b.Text = text
		return b
	}
	return delta
}

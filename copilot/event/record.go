package event

import (
	"bytes"

	"github.com/copilot-portal/portal/copilot/journal"
)

// Record is the record of a session, numbered from 1. See [journal.Journal] for how to read it. Only the session
// appends to it.
type Record = journal.Journal[Event]

// EntryCost is the memory of an event in addition to its texts, in bytes: the entry, its body and their headers,
// rounded up.
const EntryCost = 256

// Group returns the group of an event in the journal: an end can stand for the deltas of its message or thought, or for
// a tool's output.
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

// IsDelta reports whether an encoded event is a delta, as [Group] of the decoded one. It reads only the start, because decoding all deltas of a
// record would dominate the cost of reading it.
func IsDelta(data []byte) bool {
	name, ok := bytes.CutPrefix(data, []byte(encodedStart))
	if !ok {
		return false
	}
	name, _, _ = bytes.Cut(name, []byte{'"'})
	switch string(name) {
	case nameReasoningDelta, nameMessageDelta, nameToolOutput:
		return true
	}
	return false
}

// Cost estimates the memory of an event, in bytes.
func Cost(e Event) int {
	if text, ok := deltaText(e.Body); ok { // nearly all events
		return EntryCost + len(text)
	}
	var found findings
	visit(e.Body, visitor{found: &found})
	return EntryCost + found.bytes
}

// deltaText returns the text of a delta. ok is false for other bodies.
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

// withText returns a delta with another text.
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

package rest

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/jobs"
)

// For the tests of package rest_test.
var (
	Callback     = encodeCallback
	DecodeAnswer = decodeAnswer
)

// Behind is what a call of live is answered, as JSON, that cannot go on from a
// position, and where the next one does.
func Behind(r *event.Record, at journal.Position) (answer string, after uint64, moves bool) {
	_, err := r.After(at)
	text, after, moves := readEnd{err: err}.answer(&bookmark{at: at})
	return string(text), after, moves
}

// Told is what a reader of a job or task is told of events, as JSON; "" for nothing.
func Told(bodies ...jobs.Body) (texts []string) {
	m := &bookmark{}
	for _, b := range bodies {
		text := []byte{}
		if response := m.encodeJob(b); response != nil {
			text, _ = marshal(response)
		}
		texts = append(texts, string(text))
	}
	return texts
}

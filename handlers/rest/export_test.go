package rest

import (
	"errors"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/jsonrpc"
	"github.com/copilot-portal/portal/jobs"
)

// For the tests of package rest_test.
var (
	Callback     = encodeCallback
	DecodeAnswer = decodeAnswer
)

// Bookmarks returns how many bookmarks of sessions are in memory.
func (a *API) Bookmarks() int { return len(a.bookmarks.byKey) }

// LongestBookmark returns the length of the longest name of a bookmark in memory.
func (a *API) LongestBookmark() (length int) {
	for p := range a.bookmarks.byKey {
		length = max(length, len(p.name))
	}
	return length
}

// Behind returns the answer, as JSON, to a call of live that cannot continue from a
// position, and the position of the next call.
func Behind(r *event.Record, at journal.Position) (answer string, after uint64) {
	_, err := r.After(at)
	var gap *journal.GapError
	if !errors.As(err, &gap) {
		return "", 0
	}
	text, after, _ := reader{}.encodeGap(gap)
	return string(text), after
}

// EncodeJobs returns the responses for events of a job or task, as JSON; "" for none.
func EncodeJobs(bodies ...jobs.Body) (texts []string) {
	m := &bookmark{}
	for _, b := range bodies {
		text := []byte{}
		if response := m.encodeJob(b); response != nil {
			text, _ = jsonrpc.Encode(response)
		}
		texts = append(texts, string(text))
	}
	return texts
}

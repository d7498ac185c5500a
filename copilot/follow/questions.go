package follow

import (
	"slices"

	"github.com/copilot-portal/portal/copilot/event"
)

// Questions are the open questions that a reader knows, oldest first.
type Questions []event.Question

// Add adds a question and reports whether it is new. After a gap a reader takes the open questions from the session, and may find them
// in the record once more.
func (q *Questions) Add(asked event.Question) bool {
	if slices.ContainsFunc(*q, func(known event.Question) bool { return known.ID == asked.ID }) {
		return false
	}
	*q = append(*q, asked)
	return true
}

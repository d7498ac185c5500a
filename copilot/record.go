package copilot

import (
	"github.com/copilot-portal/portal/copilot/archive"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
)

// recordOptions returns the options for the record of a session.
func (h *Host) recordOptions(id string) journal.Options[event.Event] {
	o := journal.Options[event.Event]{Budget: h.options.RecordBudget, Cost: event.Cost, Group: event.Group, Meter: &h.counts.readers}
	if h.options.Store != nil {
		o.Pinned, o.Load = true, archive.Loader(h.options.Store, id)
	}
	return o
}

package copilot

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/secret"
)

// Waiting are the prompts that wait for their runs, in the order in which they will
// have them.
func (s *Session) Waiting() []event.Waiting {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued()
}

// queued is Waiting with the lock held. A prompt that was cancelled waits for nothing.
func (s *Session) queued() []event.Waiting {
	list := make([]event.Waiting, 0, len(s.queue))
	for _, r := range s.queue {
		if !r.cancelled {
			list = append(list, event.Waiting{Run: r.id, Text: r.beginning(), By: r.prompt.By})
		}
	}
	return list
}

// beginning is that of the prompt. It is masked first: a credential that is cut off
// would not be known as one.
func (r *run) beginning() string {
	if r.short == "" {
		r.short = brief(secret.Mask(r.prompt.Text))
	}
	return r.short
}

// requeue tells clients and the store that other prompts wait. Called with the lock
// held.
func (s *Session) requeue() {
	s.append("", event.QueueChanged{Waiting: s.queued()})
	s.renew()
}

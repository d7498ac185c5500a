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
	return s.waitingLocked()
}

// waitingLocked is Waiting with the lock held. A prompt that was cancelled waits for nothing.
func (s *Session) waitingLocked() []event.Waiting {
	list := make([]event.Waiting, 0, len(s.queue))
	for _, r := range s.queue {
		if !r.cancelled {
			list = append(list, event.Waiting{Run: r.id, Text: r.excerpt(), By: r.prompt.By})
		}
	}
	return list
}

// excerpt is that of the prompt. It is masked first: a credential that is cut off
// would not be known as one.
func (r *run) excerpt() string {
	if r.excerptCache == "" {
		r.excerptCache = excerpt(secret.Mask(r.prompt.Text))
	}
	return r.excerptCache
}

// reportQueue tells clients and the store that other prompts wait. Called with the lock
// held.
func (s *Session) reportQueue() {
	s.append("", event.QueueChanged{Waiting: s.waitingLocked()})
	s.storeHead()
}

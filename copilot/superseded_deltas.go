package copilot

import (
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// supersededDeltas collects the numbers of stored deltas that a later event supersedes. They are dropped when no reader can be
// among them.
type supersededDeltas struct {
	open map[string][]store.Span // of unfinished texts
	done []store.Span            // of finished texts of the current run
}

// apply follows the record. At the end of a run it returns the run's deltas that can be dropped.
func (p *supersededDeltas) apply(e journal.Entry[event.Event]) (spans []store.Span) {
	key, end := event.Group(e.Value)
	switch _, over := e.Value.Body.(event.RunEnded); {
	case over:
		spans = p.done
		*p = supersededDeltas{}
	case end:
		p.done = append(p.done, p.open[key]...)
		delete(p.open, key)
	case key != "":
		p.add(key, e.N)
	}
	return spans
}

func (p *supersededDeltas) add(key string, n uint64) {
	if p.open == nil {
		p.open = map[string][]store.Span{}
	}
	spans := p.open[key]
	if i := len(spans) - 1; i >= 0 && spans[i].Last+1 == n {
		spans[i].Last = n
		return
	}
	p.open[key] = append(spans, store.Span{First: n, Last: n})
}

// scheduleDrop drops deltas from the store after [deltaRetention]. If the lease is released first, they stay, which is harmless.
func (s *Session) scheduleDrop(spans []store.Span) {
	if len(spans) == 0 {
		return
	}
	time.AfterFunc(deltaRetention, func() {
		s.storage.mu.Lock()
		defer s.storage.mu.Unlock()
		if s.storage.lease != nil {
			_ = s.storage.lease.Drop(spans...) // fails only without the lease
		}
	})
}

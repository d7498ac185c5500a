package archive

import (
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
	"github.com/copilot-portal/portal/copilot/store"
)

// Deltas collects the numbers of stored deltas that a later event supersedes. They are dropped when no reader can be among them. The zero
// value is at the start of a run.
type Deltas struct {
	open map[string][]store.Span // of unfinished texts
	done []store.Span            // of finished texts of the current run
}

// Apply follows the record. At the end of a run it returns the run's deltas that can be dropped.
func (p *Deltas) Apply(e journal.Entry[event.Event]) (spans []store.Span) {
	key, end := event.Group(e.Value)
	switch _, over := e.Value.Body.(event.RunEnded); {
	case over:
		spans = p.done
		*p = Deltas{}
	case end:
		p.done = append(p.done, p.open[key]...)
		delete(p.open, key)
	case key != "":
		p.add(key, e.N)
	}
	return spans
}

func (p *Deltas) add(key string, n uint64) {
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

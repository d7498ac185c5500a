package store

import (
	"context"
	"time"
)

// backgroundTries is how often a chore is tried that fails.
const backgroundTries = 10

// backgroundTask is work that nobody waits for. A step is one short transaction, so that groups are not late; what failed is done
// again as it was.
type backgroundTask interface {
	// step does some of it and gives what is left to do, or nil.
	step(ctx context.Context, w *writer) (backgroundTask, error)
}

// backgroundTasks are what is to be done, one after the other.
type backgroundTasks struct {
	waiting []backgroundTask
	tries   int       // of the first that have failed
	after   time.Time // not before
}

func (c *backgroundTasks) add(next backgroundTask) { c.waiting = append(c.waiting, next) }

func (c *backgroundTasks) ready(now time.Time) bool {
	return len(c.waiting) > 0 && !now.Before(c.after)
}

// scheduleBackground remembers that the record of a session is to be rewritten when there is time.
func (w *writer) scheduleBackground(l *Lease) {
	if l.writing.merge || len(l.writing.drop) > 0 {
		w.chores.add(rewrite{session: l.key, id: l.id, spans: sorted(l.writing.drop), names: map[string]struct{}{}})
	}
}

// runBackground does one step of what waits. What fails is tried again after a pause, and in the end forgotten.
func (w *writer) runBackground(ctx context.Context) {
	c := &w.chores
	if !c.ready(time.Now()) {
		return
	}
	var next backgroundTask
	err := w.try(ctx, func(ctx context.Context) error {
		return w.db.transaction(ctx, func() (err error) {
			next, err = c.waiting[0].step(ctx, w)
			return err
		})
	})
	if err != nil {
		c.tries++
		c.after = time.Now().Add(maxPause)
		w.options.Log.Warn("a record was not tidied", "error", err, "tries", c.tries)
		if c.tries < backgroundTries {
			return
		}
		next = nil
	}
	c.tries = 0
	if next != nil {
		c.waiting[0] = next
		return
	}
	c.waiting[0] = nil
	c.waiting = c.waiting[1:]
}

package bench_test

import (
	"testing"
	"time"
)

// kind of what an arm hears.
type kind int

const (
	delta   kind = iota // a piece of the answer
	idle                // the prompt is done
	closing             // nothing comes any more
)

// heard is an event that has reached the program that wants it.
type heard struct {
	kind kind
	text string
	at   time.Time
}

// talk is a conversation with the model on one of the two sides.
type talk struct {
	prompt func(text string)
	cancel func()
	close  func()
	events chan heard
}

// room is how many events a side can be ahead of the measurement, which must not
// slow it down.
const room = 1 << 14

// opener opens a talk.
type opener func() *talk

// warm opens a talk and has it answer once: the first turn costs more.
func (open opener) warm(tb testing.TB) *talk {
	tb.Helper()
	t := open()
	t.prompt("hello")
	t.until(tb, func(h heard) bool { return h.kind == idle })
	return t
}

// until takes events up to the one that is looked for.
func (t *talk) until(tb testing.TB, found func(heard) bool) heard {
	tb.Helper()
	limit := time.After(30 * time.Second)
	for {
		select {
		case h := <-t.events:
			if found(h) {
				return h
			}
			if h.kind == closing {
				tb.Fatal("the session has ended")
			}
		case <-limit:
			tb.Fatal("what was waited for did not come in 30 s")
		}
	}
}

// answer has the model stream n chunks and gives the delay of each and how long
// all took, from the prompt on.
func (t *talk) answer(tb testing.TB, n, perSecond int) (each []time.Duration, all time.Duration) {
	tb.Helper()
	begin := time.Now()
	t.prompt(stream(n, perSecond))
	t.until(tb, func(h heard) bool {
		if h.kind == delta {
			each = append(each, delays(h.text, h.at)...)
			all = h.at.Sub(begin)
		}
		return h.kind == idle
	})
	if len(each) != n {
		tb.Fatalf("%d chunks of %d came", len(each), n)
	}
	return each, all
}

package copilot_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/store"
)

// How much a session says in [BenchmarkStore]: at once, or in each of many sessions that work at the same time.
const (
	burst       = 20_000
	crowd       = 50
	perSecond   = 200 // in each of the crowd
	pacedFor    = time.Second
	pacedRounds = 5
	watchedFor  = 3 * time.Second
	look        = time.Millisecond // between two polls of the stored record
)

// BenchmarkStore measures the cost that the store adds to an event on its way into the
// record of its session, and the time until the event would
// survive the end of the process. Rounds with and without a store alternate; each line
// is the median of the rounds, "added" that of the differences of each pair. Run
// it with -benchtime 1x.
func BenchmarkStore(b *testing.B) {
	atOnce := func(c *crew) time.Duration { return timed(burst, func() { c.emit(0) }) / burst }
	alternated(b, rounds, 1, atOnce).report(b, "burst")
	paced := func(c *crew) time.Duration { return c.paced(pacedFor, func() {}) }
	alternated(b, pacedRounds, crowd, paced).report(b, "paced")
	lag(b)
}

// comparison is the costs without a store and with one.
type comparison struct{ without, with []time.Duration }

func alternated(b *testing.B, rounds, sessions int, measure func(*crew) time.Duration) (c comparison) {
	b.Helper()
	for i := range rounds {
		for _, kept := range []bool{i%2 == 0, i%2 != 0} {
			crew := gatherCrew(b, sessions, kept)
			cost := measure(crew)
			require.Greater(b, crew.sessions[0].Record().Last(), crew.said, "the record has all words")
			crew.end()
			if kept {
				c.with = append(c.with, cost)
			} else {
				c.without = append(c.without, cost)
			}
		}
	}
	return c
}

func (c comparison) report(b *testing.B, name string) {
	b.Helper()
	var added []time.Duration
	for i := range c.with {
		added = append(added, c.with[i]-c.without[i])
	}
	b.Run(name+"/store=no", func(b *testing.B) { cost(b, c.without) })
	b.Run(name+"/store=yes", func(b *testing.B) { cost(b, c.with) })
	b.Run(name+"/added", func(b *testing.B) { cost(b, added) })
}

// crew is sessions that are all in a run.
type crew struct {
	sessions  []*copilot.Session
	turns     []*fake.Turn
	directory string // of the store; "" without one
	said      uint64 // words of the first session
	end       func()
}

func gatherCrew(b *testing.B, n int, kept bool) *crew {
	b.Helper()
	c, o, closeStore := &crew{}, copilot.Options{}, func() error { return nil }
	if kept {
		c.directory = b.TempDir()
		kept, err := store.Open(b.Context(), store.Options{Directory: c.directory})
		require.NoError(b, err)
		o.Store, closeStore = kept, kept.Close
	}
	agents := fake.New()
	turns, over := make(chan *fake.Turn), make(chan struct{})
	agents.Script = func(t *fake.Turn) {
		turns <- t
		<-over
	}
	host, work := agents.NewHost(o), b.TempDir()
	for range n {
		s, err := host.Start(b.Context(), copilot.Start{Model: "model-a", Directory: work})
		require.NoError(b, err)
		_, err = s.Prompt(event.Prompt{Text: "x"})
		require.NoError(b, err)
		c.sessions, c.turns = append(c.sessions, s), append(c.turns, <-turns)
	}
	c.end = func() {
		close(over)
		host.Close(context.Background())
		agents.Close()
		require.NoError(b, closeStore())
	}
	runtime.GC() // of the previous round
	return c
}

func (c *crew) emit(i int) {
	if i == 0 {
		c.said++
	}
	c.turns[i].Emit(event.MessageDelta{ID: "m", Text: "word "})
}

// paced makes all sessions say words at intervals, and returns the typical cost of a
// word. It calls then after each round.
func (c *crew) paced(d time.Duration, then func()) time.Duration {
	var costs []time.Duration
	ticks := time.NewTicker(time.Second / perSecond)
	defer ticks.Stop()
	for end := time.Now().Add(d); time.Now().Before(end); <-ticks.C {
		begin := time.Now()
		for i := range c.turns {
			c.emit(i)
		}
		costs = append(costs, time.Since(begin)/time.Duration(len(c.turns)))
		then()
	}
	slices.Sort(costs)
	return costs[len(costs)/2]
}

// lag measures the time from an append until another process
// finds the event in the file.
func lag(b *testing.B) {
	b.Helper()
	c := gatherCrew(b, crowd, true)
	all := c.lags(b, func(said func()) { c.paced(watchedFor, said) })
	c.end()
	c = gatherCrew(b, 1, true)
	behind := c.lags(b, func(said func()) {
		timed(burst, func() { c.emit(0) })
		said()
	})
	c.end()
	for name, d := range map[string]time.Duration{"p50": all[len(all)/2], "p99": all[len(all)*99/100]} {
		b.Run("lag/paced/"+name, func(b *testing.B) { waited(b, d) })
	}
	b.Run(fmt.Sprintf("lag/after-a-burst-of-%d", burst), func(b *testing.B) { waited(b, behind[0]) })
}

func waited(b *testing.B, d time.Duration) {
	b.Helper()
	b.ReportMetric(d.Seconds()*1e3, "ms")
	b.ReportMetric(0, "ns/op")
}

// point is the time at which a record reached a number.
type point struct {
	n  uint64
	at time.Time
}

// lags returns, in increasing order, how long after each call of said the entries that the first session
// had by then are stored.
func (c *crew) lags(b *testing.B, do func(said func())) (lags []time.Duration) {
	b.Helper()
	other, err := store.Open(b.Context(), store.Options{Directory: c.directory})
	require.NoError(b, err)
	defer other.Close()
	moments, done := make(chan point, 1<<16), make(chan struct{})
	go func() {
		defer close(done)
		stored := uint64(0)
		for m := range moments {
			for stored < m.n && b.Context().Err() == nil {
				time.Sleep(look)
				head, _ := other.Session(b.Context(), c.sessions[0].ID()) // the session may not be stored yet
				stored = head.Last
			}
			lags = append(lags, time.Since(m.at))
		}
	}()
	do(func() { moments <- point{c.sessions[0].Record().Last(), time.Now()} })
	close(moments)
	<-done
	slices.Sort(lags)
	return lags
}

package copilot_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/copilot"
	"github.com/copilot-portal/portal/copilot/agent/fake"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/journal"
)

// rounds is how often each cost is measured; the benchmark reports the median.
const rounds = 9

// window is how many events are timed together.
const window = 1000

// BenchmarkEvent measures the cost of an event on its way from the agent into the
// record of its session, on the goroutine that serves all sessions of the
// agent: after many events, and with many waiting readers. It should be
// the same for all. Run it with -benchtime 1x; each line is the median of 9
// alternating rounds. Events of the second kind come one at a time, after
// the processor has slept, and wake it.
func BenchmarkEvent(b *testing.B) {
	after := []int{1e3, 1e4, 1e5, 1e6}
	costs := make([][]time.Duration, len(after))
	for range rounds {
		inRun(b, func(_ *copilot.Session, emit func()) {
			sent := 0
			for i, n := range after {
				for ; sent < n; sent++ {
					emit()
				}
				costs[i] = append(costs[i], timed(window, emit)/window)
				sent += window
			}
		})
	}
	for i, n := range after {
		b.Run(fmt.Sprintf("after=%d", n), func(b *testing.B) { cost(b, costs[i]) })
	}
	counts := []int{0, 10, 1000}
	waiting := make([][]time.Duration, len(counts))
	for range rounds {
		for i, n := range counts {
			inRun(b, func(s *copilot.Session, emit func()) {
				readers := gather(s, n)
				var each []time.Duration
				for range 50 {
					readers.settle()
					each = append(each, timed(1, emit))
				}
				slices.Sort(each)
				waiting[i] = append(waiting[i], each[len(each)/2])
			})
		}
	}
	for i, n := range counts {
		b.Run(fmt.Sprintf("waiting=%d", n), func(b *testing.B) { cost(b, waiting[i]) })
	}
}

func cost(b *testing.B, costs []time.Duration) {
	b.Helper()
	slices.Sort(costs)
	b.ReportMetric(float64(costs[len(costs)/2].Nanoseconds()), "ns/event")
	b.ReportMetric(0, "ns/op")
}

func timed(n int, do func()) time.Duration {
	begin := time.Now()
	for range n {
		do()
	}
	return time.Since(begin)
}

// inRun calls do while the agent of a session works on a prompt; emit
// makes it say another word.
func inRun(b *testing.B, do func(s *copilot.Session, emit func())) {
	b.Helper()
	agents := fake.New()
	defer agents.Close()
	host := agents.NewHost(copilot.Options{})
	defer host.Close(context.Background())
	turns, over := make(chan *fake.Turn), make(chan struct{})
	agents.Script = func(t *fake.Turn) {
		turns <- t
		<-over
	}
	s, err := host.Start(b.Context(), copilot.Start{Model: "model-a", Directory: b.TempDir()})
	require.NoError(b, err)
	_, err = s.Prompt(event.Prompt{Text: "x"})
	require.NoError(b, err)
	turn := <-turns
	defer close(over)
	runtime.GC() // of the previous round
	do(s, func() { turn.Emit(event.MessageDelta{ID: "m", Text: "word "}) })
}

// followers are readers of a record that have read everything and wait.
type followers struct {
	record *event.Record
	mu     sync.Mutex
	at     []uint64 // the position of each
}

func gather(s *copilot.Session, n int) *followers {
	f := &followers{record: s.Record(), at: make([]uint64, n)}
	for i := range n {
		go f.follow(i)
	}
	return f
}

func (f *followers) follow(i int) {
	for after := uint64(0); ; {
		entries, err := f.record.Next(context.Background(), after, 0)
		var gap *journal.GapError
		switch {
		case errors.As(err, &gap):
			after = gap.First - 1
		case err != nil:
			return
		default:
			after = entries[len(entries)-1].N
		}
		f.mu.Lock()
		f.at[i] = after
		f.mu.Unlock()
	}
}

// settle returns when all have read everything and are waiting again.
func (f *followers) settle() {
	last := f.record.Last()
	for all := false; !all; {
		runtime.Gosched()
		f.mu.Lock()
		all = !slices.ContainsFunc(f.at, func(n uint64) bool { return n < last })
		f.mu.Unlock()
	}
	time.Sleep(time.Millisecond)
}

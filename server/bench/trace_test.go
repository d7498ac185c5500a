package bench_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/tracing"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/copilot-portal/portal/server/portaltest"
)

// work is what the main thread of a page has done in a while.
type work struct {
	tasks  []time.Duration // how long it could do nothing else
	bare   []time.Duration // the time of the processor in each task
	script []time.Duration // of its own script, layout that the script forces included, by frame
	busy   []time.Duration // the time of the processor in that: others may need it meanwhile
	layout []time.Duration // style and layout, by frame
}

// long is how many tasks were so long that people notice.
func (w work) long() (n int) {
	for _, d := range w.tasks {
		if d > 50*time.Millisecond {
			n++
		}
	}
	return n
}

// traced watches a page through DevTools while it does something.
func traced(b *testing.B, tab *portaltest.Browser, do func()) work {
	b.Helper()
	_, err := chromedp.Call(tab.Context, tracing.Start, tracing.StartParams{
		TransferMode: "ReportEvents",
		TraceConfig: &tracing.TraceConfig{IncludedCategories: []string{
			"devtools.timeline", "disabled-by-default-devtools.timeline", "disabled-by-default-devtools.timeline.frame", "blink.user_timing",
		}},
	})
	require.NoError(b, err)
	events, over := chromedp.Events(tab.Context, tracing.DataCollected), chromedp.Events(tab.Context, tracing.TracingComplete)
	mark := chromedp.Evaluate[chromedp.Void](`void performance.mark("traced")`)
	tab.Do(mark)
	do()
	tab.Do(mark)
	_, err = chromedp.Call(tab.Context, tracing.End, cdp.Empty{})
	require.NoError(b, err)
	for complete, err := range over { // what was collected has come before
		require.NoError(b, err)
		require.False(b, complete.DataLossOccurred, "the trace was too long")
		break
	}
	var trace []traceEvent
	for collected, err := range events {
		require.NoError(b, err)
		for _, value := range collected.Value {
			var e traceEvent
			require.NoError(b, json.Unmarshal(value, &e))
			trace = append(trace, e)
		}
		if isOver(trace) {
			break
		}
	}
	return workIn(b, trace)
}

// traceEvent is a line of a trace; times are microseconds.
type traceEvent struct {
	Name, Ph string
	TS, Dur  int64
	TDur     int64 // of the processor
	PID, TID int64
}

func (e traceEvent) end() int64 { return e.TS + e.Dur }

// isOver says whether both marks have come. What happened before comes before, but
// for what other threads did.
func isOver(trace []traceEvent) bool { return len(marks(trace)) == 2 }

func marks(trace []traceEvent) (list []traceEvent) {
	for _, e := range trace {
		if e.Name == "traced" {
			list = append(list, e)
		}
	}
	return list
}

// workIn reads what the thread did that has set the marks, between them.
func workIn(b *testing.B, trace []traceEvent) (w work) {
	b.Helper()
	m := marks(trace)
	require.Len(b, m, 2)
	var frames []int64
	var script, layout []traceEvent
	for _, e := range trace {
		if e.PID != m[0].PID || e.TID != m[0].TID || e.TS < m[0].TS || e.end() > m[1].TS {
			continue
		}
		switch e.Name {
		case "RunTask":
			w.tasks, w.bare = append(w.tasks, micros(e.Dur)), append(w.bare, micros(e.TDur))
		case "BeginMainThreadFrame":
			frames = append(frames, e.TS)
		case "FunctionCall", "EvaluateScript", "RunMicrotasks", "FireAnimationFrame", "EventDispatch", "TimerFire", "FireIdleCallback":
			script = append(script, e)
		case "Layout", "UpdateLayoutTree":
			layout = append(layout, e)
		}
	}
	require.NotEmpty(b, frames, "no frame was drawn")
	slices.Sort(frames)
	w.script, w.layout = byFrame(frames, script, took), byFrame(frames, layout, took)
	w.busy = byFrame(frames, script, func(e traceEvent) int64 { return e.TDur })
	return w
}

func took(e traceEvent) int64 { return e.Dur }

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// byFrame adds up what was done up to each frame and in it; what lies in another
// counts once.
func byFrame(frames []int64, events []traceEvent, of func(traceEvent) int64) []time.Duration {
	slices.SortFunc(events, func(a, b traceEvent) int { return int(a.TS - b.TS) })
	sums, until := make([]time.Duration, len(frames)+1), int64(0)
	for _, e := range events {
		if e.end() <= until {
			continue
		}
		at, _ := slices.BinarySearch(frames, e.TS)
		sums[at] += micros(of(e))
		until = e.end()
	}
	return sums
}

// spread writes p50, p99 and the most.
func spread(list []time.Duration) string {
	if len(list) == 0 {
		return "none"
	}
	return fmt.Sprintf("%.1f, %.1f, %.1f ms", quantile(list, 0.5).Seconds()*1e3, quantile(list, 0.99).Seconds()*1e3, quantile(list, 1).Seconds()*1e3)
}

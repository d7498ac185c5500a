package operation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
)

// A tool that runs for longRunning is reported, and then every reportEvery; every rareReportEvery in an operation with
// more than manyReports messages, and never from coarseFrom on, so that waiting does not use up the messages
// of an operation.
const (
	longRunning     = time.Second
	reportEvery     = 10 * time.Second
	rareReportEvery = time.Minute
	manyReports     = 300
)

// toolCall is an unfinished tool call.
type toolCall struct {
	event.ToolStarted

	since    time.Time // when it started to run, after its permission
	next     time.Time // when to report it next
	reported bool
}

func newToolCall(b event.ToolStarted, at time.Time) *toolCall {
	return &toolCall{ToolStarted: b, since: at, next: at.Add(longRunning)}
}

// resumeClock handles the end of a question: the tool that waited for it runs now.
func (t *encoder) resumeClock(question string, at time.Time) {
	call := t.calls[t.open[question]]
	delete(t.open, question)
	if call != nil && !call.reported {
		call.since, call.next = at, at.Add(longRunning)
	}
}

// nextReport returns when the next tool or failure must be reported, or the zero time.
func (t *encoder) nextReport() (at time.Time) {
	at = t.failure.deadline
	for _, c := range t.calls {
		if t.isReported(c) && (at.IsZero() || c.next.Before(at)) {
			at = c.next
		}
	}
	return at
}

// isReported reports whether a running tool is shown. A tool that waits for a person is not.
func (t *encoder) isReported(c *toolCall) bool {
	for _, call := range t.open {
		if call == c.ID || call == "" {
			return false
		}
	}
	return t.made < coarseFrom
}

// reportDue emits what is due: running tools and a failure.
func (t *encoder) reportDue(now time.Time) {
	if !t.failure.deadline.After(now) {
		t.flushFailure()
	}
	var due []*toolCall
	for _, c := range t.calls {
		if t.isReported(c) && !c.next.After(now) {
			due = append(due, c)
		}
	}
	slices.SortFunc(due, func(a, b *toolCall) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.ID, b.ID)) })
	for _, c := range due {
		t.reportCall(c, now)
	}
}

func (t *encoder) reportCall(c *toolCall, now time.Time) {
	action := toolActionOf(c.Name)
	doing := strings.TrimSpace(action.progressive + " " + action.about(c.ToolStarted, t.directory))
	if c.reported {
		t.addAction("Still %s (%v)", doing, now.Sub(c.since).Truncate(time.Second))
	} else {
		t.addAction("%s", strings.ToUpper(doing[:1])+doing[1:])
	}
	c.reported = true
	every := reportEvery
	if t.made > manyReports {
		every = rareReportEvery
	}
	c.next = c.since.Add(now.Sub(c.since).Truncate(every) + every)
}

// isWaiting reports whether silence is expected.
func (t *encoder) isWaiting() bool { return t.queued || len(t.open) > 0 }

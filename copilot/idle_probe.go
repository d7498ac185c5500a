package copilot

import (
	"context"
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
)

// Silence of an agent during a run before it is asked whether it works: initially, at most, and after it denied it.
const (
	idleProbeFirst = 15 * time.Second
	idleProbeMax   = time.Minute
	idleProbeAgain = 2 * time.Second
	workTimeout    = 5 * time.Second
)

// NoticeIdleForgotten is the kind of the [event.Notice] in a run that was ended because the agent did not report that it was idle.
const NoticeIdleForgotten = "portal.idle_forgotten"

// idleProbe detects an agent that does not report that it is idle, which would keep the run open forever. It polls the end of the
// record, so that events cost nothing.
type idleProbe struct {
	timer *time.Timer   // of the next probe
	pause time.Duration // between probes
	last  uint64        // last event at the last probe
	idle  bool          // at the last probe, the agent denied that it works
}

func newIdleProbe(last uint64) *idleProbe {
	return &idleProbe{timer: time.NewTimer(idleProbeFirst), pause: idleProbeFirst, last: last}
}

// reset schedules the next probe.
func (q *idleProbe) reset(pause time.Duration, idle bool) {
	q.pause, q.idle = pause, idle
	q.timer.Reset(pause)
}

// restart restarts the probe after an event.
func (q *idleProbe) restart(last uint64) {
	q.last = last
	q.reset(idleProbeFirst, false)
}

// probeRun probes the current run, and ends it if the agent did not report its end.
func (s *Session) probeRun(q *idleProbe) {
	s.mu.Lock()
	l, run := s.link, s.machine.RunID()
	s.mu.Unlock()
	if l == nil || run == "" {
		return // the next step restarts the probe
	}
	if s.agentForgotIdle(l, q) && !s.endSilentRun(run, q.last) {
		q.reset(idleProbeFirst, false)
	}
}

// agentForgotIdle reports whether the agent denied twice that it works, without an event in between.
func (s *Session) agentForgotIdle(l *agentLink, q *idleProbe) bool {
	last := s.record.Last()
	if last != q.last || s.isAsking() {
		q.restart(last)
		return false
	}
	ctx, cancel := s.interruptible()
	defer cancel()
	ctx, stop := context.WithTimeout(ctx, workTimeout)
	defer stop()
	working, err := l.conversation.Working(ctx)
	switch {
	case err != nil || working: // the pool handles silent processes
		q.reset(min(2*q.pause, idleProbeMax), false)
	case !q.idle || s.record.Last() != last:
		q.reset(idleProbeAgain, true)
	default:
		return true
	}
	return false
}

func (s *Session) isAsking() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.machine.Asks()
}

// endSilentRun ends a run whose agent is idle; false if an event has followed last, or a prompt that steers is being delivered.
func (s *Session) endSilentRun(run string, last uint64) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.record.Last() != last {
		return false
	}
	raw := json.RawMessage(`{"text":"The agent does nothing any more but did not say so; the run was ended."}`)
	s.inputLocked(func(m *session.Machine) {
		ended = m.EndSilent(run, event.Notice{Kind: NoticeIdleForgotten, Raw: raw})
	})
	if ended {
		s.host.options.Log.Warn("run ended because the agent did not report that it is idle", "session", s.id, "run", run)
	}
	return ended
}

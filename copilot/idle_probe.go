package copilot

import (
	"context"
	"encoding/json"
	"time"

	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
)

// How long an agent may be silent during a run until it is asked whether it still works: at first, at most, and after it has denied it.
const (
	idleProbeFirst = 15 * time.Second
	idleProbeMax   = time.Minute
	idleProbeAgain = 2 * time.Second
	workTimeout    = 5 * time.Second
)

// NoticeIdleForgotten is the kind of the [event.Notice] in a run that was ended because the agent was idle without saying so.
const NoticeIdleForgotten = "portal.idle_forgotten"

// idleProbe watches a run for an agent that forgets to say that it is idle, as the run would never end. It compares the end of the
// record from time to time, so that events cost nothing.
type idleProbe struct {
	timer *time.Timer   // of the next look
	pause time.Duration // between looks
	last  uint64        // the last event at the last look
	idle  bool          // the agent said then that it does nothing
}

func newIdleProbe(last uint64) *idleProbe {
	return &idleProbe{timer: time.NewTimer(idleProbeFirst), pause: idleProbeFirst, last: last}
}

// reset sets the time of the next look.
func (q *idleProbe) reset(pause time.Duration, idle bool) {
	q.pause, q.idle = pause, idle
	q.timer.Reset(pause)
}

// restart starts the probe again behind an event.
func (q *idleProbe) restart(last uint64) {
	q.last = last
	q.reset(idleProbeFirst, false)
}

// probeRun looks at the current run, and ends it if the agent has forgotten it.
func (s *Session) probeRun(q *idleProbe) {
	s.mu.Lock()
	l, run := s.link, s.machine.RunID()
	s.mu.Unlock()
	if l == nil || run == "" {
		return // the next step starts the probe again
	}
	if s.agentForgotIdle(l, q) && !s.endSilentRun(run, q.last) {
		q.reset(idleProbeFirst, false)
	}
}

// agentForgotIdle says whether the agent denied twice that it works, with no event in between.
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
	case err != nil || working: // a silent process is the pool's business
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

// endSilentRun ends a run whose agent is idle; false if an event has followed the last one, or a prompt that steers is on its way.
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
		s.host.options.Log.Warn("the agent is idle but did not say so; the run is ended", "session", s.id, "run", run)
	}
	return ended
}

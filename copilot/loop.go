package copilot

import (
	"context"
	"time"

	"github.com/copilot-portal/portal/copilot/session"
)

// life is the time from a session's activation until it is inactive.
type life struct {
	begun chan session.Begin // holds at most one step
	idle  *time.Timer        // fires when no run has ended for [Host.suspendAfter]
	done  chan struct{}      // closed when the loop has ended
}

func newLife(idle time.Duration) *life {
	return &life{begun: make(chan session.Begin, 1), idle: time.NewTimer(idle), done: make(chan struct{})}
}

// loop takes the steps of the session one after another, and watches the agent and timers between them, until the session is
// inactive.
func (s *Session) loop(l *life) {
	defer close(l.done)
	defer l.idle.Stop()
	probe := newIdleProbe(s.record.Last())
	defer probe.timer.Stop()
	for !s.machineState().AtRest() {
		select {
		case b := <-l.begun:
			s.takeStep(b)
			probe.restart(s.record.Last())
		case <-probe.timer.C:
			s.probeRun(probe)
		case <-l.idle.C:
			if !s.suspend() {
				l.idle.Reset(s.host.suspendAfter()) // try again later
			}
		case <-s.agentDone():
			s.reportAgentExit()
		case <-s.retiredBetweenRuns():
			s.leaveRetiredAgent()
		case <-s.wake:
		}
	}
}

// wakeLoop makes the loop re-evaluate what it watches.
func (s *Session) wakeLoop() {
	signal(s.wake)
}

// takeStep takes one step and passes its result to the machine.
func (s *Session) takeStep(b session.Begin) {
	switch b.Step {
	case session.NoStep:
	case session.AcquireSlot:
		s.acquireSlot()
	case session.OpenConversation:
		s.openForRun(b.Run)
	case session.Compact:
		s.compact()
	case session.SendPrompt:
		s.send(b.Run)
	case session.AbortRun:
		s.abort(b.Run)
	case session.ReleaseConversation:
		s.releaseConversation()
		s.input((*session.Machine).Released)
	case session.Finish:
		s.finish()
	}
}

// input passes an input to the machine and performs the effects.
func (s *Session) input(in func(*session.Machine)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inputLocked(in)
}

// inputLocked is input for callers that hold the lock.
func (s *Session) inputLocked(in func(*session.Machine)) {
	in(&s.machine)
	s.perform()
}

// interruptible returns the context of a step that [session.Interrupt] cancels. The caller must call cancel.
func (s *Session) interruptible() (ctx context.Context, cancel context.CancelFunc) {
	ctx, cancel = context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = cancel
	if s.machine.Interrupted() {
		cancel()
	}
	return ctx, cancel
}

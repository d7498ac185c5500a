package copilot

import (
	"time"

	"github.com/copilot-portal/portal/copilot/agent"
	"github.com/copilot-portal/portal/copilot/event"
	"github.com/copilot-portal/portal/copilot/session"
)

// deltaRetention is how long deltas stay in the record after their run has ended,
// for readers that lag behind.
const deltaRetention = time.Minute

// perform performs the effects of the machine's inputs. The caller must hold the lock.
func (s *Session) perform() {
	for _, e := range s.machine.Effects() {
		switch e := e.(type) {
		case session.Record:
			s.append(e.Run, e.Agent, e.Body)
		case session.Begin:
			s.life.begun <- e // there is room: no other step is in progress
		case session.Interrupt:
			s.interruptStep()
		case session.Deliver:
			s.deliver(e)
		case session.Reply:
			s.reply(e)
		case session.WatchQuestion:
			s.watch(e.Question)
		case session.UnwatchQuestion:
			s.unwatch(e.ID)
		case session.ReplaceTools:
			s.replaceTools(e.Tools)
		case session.Slot:
			s.host.runSlots.count(e.Held)
		case session.Changed:
			s.changed(e)
		}
	}
	s.noteStatus()
}

// noteStatus makes the recorder store a changed status. That of an inactive session is stored with what changes it: one whose start fails
// is not stored at all. The caller must hold the lock.
func (s *Session) noteStatus() {
	if s.stored.status == (status{s.state(), s.waitsFor()}) {
		return
	}
	s.unstored.head = true
	if !s.machine.State().AtRest() {
		s.notifyRecorder()
	}
}

// changed stores a change without an event, and reports the queue to clients if it has changed. The caller must hold the lock.
func (s *Session) changed(c session.Changed) {
	if c.Queue {
		s.append(c.Run, "", event.QueueChanged{Waiting: s.waiting()})
	}
	s.storeHead()
}

// interruptStep cancels the current step and hurries the prompts that steer. The caller must hold the lock.
func (s *Session) interruptStep() {
	if s.interrupt != nil {
		s.interrupt()
	}
	if s.hurry != nil {
		close(s.hurry)
		s.hurry = nil
	}
}

// deliver gives the agent a prompt that steers, without blocking the caller. The caller must hold the lock.
func (s *Session) deliver(d session.Deliver) {
	l := s.link
	if s.hurry == nil {
		s.hurry = make(chan struct{})
	}
	hurry := s.hurry
	s.pendingReplies.Go(func() {
		ctx, cancel := l.callContext(hurry)
		defer cancel()
		err := l.send(ctx, d.Prompt)
		s.input(func(m *session.Machine) { m.Delivered(d, err, !agent.IsClosed(l.lease.Agent.Done())) })
	})
}

// reply sends an answer to the agent, without blocking the caller. The caller must hold the lock.
func (s *Session) reply(r session.Reply) {
	l, conversation, checkpoint := s.link, s.machine.Conversation(), s.checkpointBefore(r)
	s.pendingReplies.Go(func() {
		awaitClosed(checkpoint, l.released)
		ctx, cancel := l.callContext(nil)
		defer cancel()
		if err := l.conversation.Answer(ctx, r.Question, r.Answer); err != nil {
			err = l.failed(ctx, err, "accept it in time")
			if !agent.IsClosed(l.lease.Agent.Done()) { // otherwise the run ends anyway
				s.input(func(m *session.Machine) { m.ReplyFailed(conversation, err) })
			}
		}
	})
}

// recordInRun records an event of the current run, if there is one. The caller must hold the lock.
func (s *Session) recordInRun(agent string, b event.Body) { s.append(s.machine.RunID(), agent, b) }

// append masks and records an event. The caller must hold the lock.
func (s *Session) append(run, agent string, b event.Body) {
	for _, e := range s.masks.HeldBack(b) {
		s.appendMasked(run, e.Agent, e.Body)
	}
	if _, over := b.(event.RunEnded); over {
		for _, open := range s.blocks.Open() {
			s.appendMasked(run, open.Agent, open.EndEvent())
		}
	}
	if b = s.masks.Mask(agent, b); b != nil {
		s.appendMasked(run, agent, b)
	}
}

func (s *Session) appendMasked(run, agent string, b event.Body) {
	e := event.Event{Time: time.Now(), Run: run, Agent: agent, Body: b}
	n, err := s.record.Append(e)
	if err != nil { // the record is closed
		return
	}
	s.host.counts.events.Add(1)
	s.blocks.Apply(e)
	s.note(n, e)
}

// note updates the summary of the session from an event. The caller must hold the lock.
func (s *Session) note(n uint64, e event.Event) {
	switch b := e.Body.(type) {
	case event.SessionOpened, event.SessionClosed: // caused by the portal's start or end, perhaps: not a change of the session
		s.notifyRecorder()
		return
	case event.RunStarted:
		s.host.counts.started.Add(1)
		s.settings.Run, s.settings.Outcome, s.unstored.head = e.Run, "", true
	case event.RunEnded:
		s.noteRunEnd(n, e.Run, b)
	case event.UserMessage:
		s.settings.addPrompt(b.Prompt)
		s.settings.Archived, s.unstored.head = false, true
	case event.ModelChanged, event.TitleChanged, event.UsageChanged, event.ModelCalled:
		s.unstored.head = true
	}
	s.lastChange = e.Time
	s.notifyRecorder()
}

func (s *Session) noteRunEnd(n uint64, run string, end event.RunEnded) {
	s.checkpointEnd(run)
	s.host.counts.end(end.Outcome)
	s.askTitle(end)
	s.settings.LastRunEnd, s.settings.Outcome, s.unstored.head = n, end.Outcome, true
	if s.runEnded != nil && !agent.IsClosed(s.runEnded) {
		close(s.runEnded)
	}
	if s.life != nil {
		s.life.idle.Reset(s.host.suspendAfter())
	}
	s.shipConversation()
	s.wakeLoop()
	time.AfterFunc(deltaRetention, func() { s.record.Trim(n) })
}

// storeHead makes the recorder store the head after a change without an event. The caller must hold the lock.
func (s *Session) storeHead() {
	s.unstored.head = true
	s.notifyRecorder()
}

// notifyRecorder makes the recorder write the session. The caller must hold the lock.
func (s *Session) notifyRecorder() {
	if r := s.host.recorder; r != nil && !s.unstored.notified {
		s.unstored.notified = true
		r.notify(s)
	}
}
